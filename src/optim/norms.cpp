#include "optim/square_weights.h"

#include "ops/update.h"
#include "optim/offload.h"

namespace megalith {

namespace {

std::string own_name_of(const std::string& name) { return name; }

// `near`: the weights in compute precision, where the main ones are what those lack.
Value squares_of(Builder& b, Value main, Value near) {
  const int ndim = b.type(main).ndim();
  if (b.type(main).dtype != DType::u16) return b.add1(SumSquares{ndim}, {main});
  return b.add1(SumSquares{.ndim = ndim, .rest = true}, {near, main});
}

Value squares_of(Builder& b, const Bucket& bucket) {
  return squares_of(b, main_leaf(b, bucket), bucket.has_copy() ? weights_shard_leaf(b, bucket) : Value{});
}

Value squares_of(Builder& b, const Parameter& p, const Precision& precision, bool host) {
  const Value weights = b.leaf(leaf_of(p, own_name_of, p.type, Role::parameter));
  const Value main = main_leaf(b, p, precision, host);
  return squares_of(b, main ? main : weights, weights);
}

}  // namespace

Graph square_weights(const Mesh& mesh, const std::vector<Parameter>& parameters, const std::vector<Bucket>& buckets,
                     const OptimizerConfig& config, const Precision& precision, int stage) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  b.set_phase(Phase::update), b.set_module("weights norm");
  const std::vector<bool> host = on_host(parameters, config);
  Value sum;
  for (size_t i = 0; i < (buckets.empty() ? parameters.size() : buckets.size()); ++i) {
    const std::vector<int>& stages = buckets.empty() ? parameters[i].stages : buckets[i].stages;
    if (!stages.empty() && stages.front() != stage) continue;
    const Value squares =
        buckets.empty() ? squares_of(b, parameters[i], precision, host[i]) : squares_of(b, buckets[i]);
    const Value term = owned_total(b, stage_term(b, squares));
    sum = sum ? b.add1(AddGrad{0}, {sum, term}) : term;
  }
  g.outputs[kWeightSquares] = reduced(b, sum);
  return g;
}

}  // namespace megalith
