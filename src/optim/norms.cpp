#include "optim/norms.h"

#include <map>

#include "graph/relayout_op.h"
#include "ops/scale.h"
#include "ops/update.h"
#include "optim/offload.h"
#include "optim/optimizer.h"

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

// The sums of squares of this stage, by output.
class Sums {
 public:
  explicit Sums(Builder& b) : b_(b) {}

  void add(const std::string& output, Value squares) {
    const Value term = owned_total(b_, stage_term(b_, squares));
    Value& sum = sums_[output];
    sum = sum ? b_.add1(AddGrad{0}, {sum, term}) : term;
  }

  // The ranks of all stages add them. A stage without a state of the suffix adds 0.
  Value over_ranks(const std::string& output) {
    if (!sums_.contains(output)) add(output, b_.add1(Scale{0, 0}, {b_.add1(Ones{Type{DType::f64, {}, whole(0)}}, {})}));
    return reduced(b_, sums_.at(output));
  }

 private:
  Builder& b_;
  std::map<std::string, Value> sums_;
};

}  // namespace

std::string squares_of_state(const std::string& suffix) { return "squares of " + suffix; }

Graph norms(const Mesh& mesh, const std::vector<Parameter>& parameters, const std::vector<Bucket>& buckets,
            const OptimizerConfig& config, const Precision& precision, int stage, const NormsAsked& asked) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  b.set_phase(Phase::update), b.set_module("norms");
  const std::vector<bool> host = on_host(parameters, config);
  Sums sums(b);
  for (size_t i = 0; i < (buckets.empty() ? parameters.size() : buckets.size()); ++i) {
    const Bucket* bucket = buckets.empty() ? nullptr : &buckets[i];
    const Parameter& p = parameters[bucket ? bucket->members[0] : i];
    const std::vector<int>& stages = bucket ? bucket->stages : p.stages;
    if (!stages.empty() && stages.front() != stage) continue;
    if (asked.weights) sums.add(kWeightSquares, bucket ? squares_of(b, *bucket) : squares_of(b, p, precision, host[i]));
    if (!asked.states) continue;
    for (const OptimizerState& s : updater_of(config, p).states(precision)) {
      const Value state = bucket ? state_leaf(b, *bucket, s) : state_leaf(b, p, s, host[i]);
      sums.add(squares_of_state(s.suffix), b.add1(SumSquares{b.type(state).ndim()}, {state}));
    }
  }
  if (asked.weights) g.outputs[kWeightSquares] = sums.over_ranks(kWeightSquares);
  if (asked.states)
    for (const std::string& suffix : state_suffixes(config))
      g.outputs[squares_of_state(suffix)] = sums.over_ranks(squares_of_state(suffix));
  return g;
}

}  // namespace megalith
