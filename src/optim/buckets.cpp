#include "optim/buckets.h"

#include <map>

#include "ops/split_main.h"
#include "ops/update.h"
#include "optim/optimizer.h"
#include "optim/update.h"

namespace megalith {

namespace {

constexpr i64 kStep = 128;     // elements between possible places: 256 bytes in bf16
constexpr i64 kAlignment = 8;  // of unsplit parameters, concatenated: 16 bytes

i64 rounded_up(i64 n, i64 step) { return (n + step - 1) / step * step; }

struct Kind {  // what members of a bucket have in common
  AxisSet reduced, split;
  bool decay, own_rate, coded;
  std::vector<int> stages;
  std::string shared;  // its name, where several stages hold it: their lists of parameters may differ
  DType dtype;
  std::string_view updater;
  std::string stacked;  // the type of a parameter that must not be split; else empty
  auto operator<=>(const Kind&) const = default;
};

Kind kind_of(const Parameter& p, const OptimizerConfig& config, bool coded) {
  const Optimizer& updater = updater_of(config, p);
  Kind k{p.type.layout.copy,
         {},
         p.decays(),
         has_own_rate(p, config),
         coded,
         p.stages,
         p.tied() ? p.name : "",
         p.type.dtype,
         updater.name(),
         {}};  // a cotangent's sums are its weight's copies
  for (const AxisList& dim : p.type.layout.dims) k.split.insert(dim.axes());
  if (updater.granularity() == Granularity::matrix) k.stacked = to_string(p.type);
  return k;
}

// On one rank: of a bucket, `n` elements or whole parameters. `like`: one of its members.
Type type_of(const Mesh& mesh, const Kind& k, const Bucket& bucket, const Parameter& like, DType dtype, i64 n) {
  if (bucket.stacked) {
    Type t{dtype, like.type.shape, whole(like.type.shape.size() + 1)};
    t.shape.insert(t.shape.begin(), n);
    std::ranges::copy(like.type.layout.dims, t.layout.dims.begin() + 1);
    return t;
  }
  Type t{dtype, {mesh.n(k.split), n}, whole(2)};
  t.layout.dims[0].add({k.split});
  return t;
}

void close(const Mesh& mesh, const Kind& k, i64 n, const Parameter& like, const Precision& precision, Bucket& bucket) {
  n = bucket.stacked ? rounded_up(i64(bucket.members.size()), mesh.n(k.reduced))
                     : rounded_up(n, kStep * mesh.n(k.reduced));
  bucket.gradient = type_of(mesh, k, bucket, like, precision.gradients, n);
  bucket.weights = type_of(mesh, k, bucket, like, k.coded ? DType::f8_e4m3 : k.dtype, n);
  bucket.shard = type_of(mesh, k, bucket, like, precision.main_parameters, n);
  bucket.gradient.layout.partial.insert(k.reduced), bucket.weights.layout.copy.insert(k.reduced);
  bucket.shard.layout.dims[size_t(bucket.cut_dim())].add({k.reduced});
}

Type in_compute_precision(const Bucket& bucket) {
  return {bucket.precision(), bucket.shard.shape, bucket.shard.layout};
}

}  // namespace

bool has_own_rate(const Parameter& p, const OptimizerConfig& config) {
  return config.decoupled_lr && (p.kind == ParameterKind::embedding || p.kind == ParameterKind::output);
}

std::vector<Bucket> make_buckets(const Mesh& mesh, const std::vector<Parameter>& parameters, i64 size,
                                 const OptimizerConfig& config, const Precision& precision,
                                 bool (*coded)(const std::string& parameter)) {
  if (size == 0) size = std::max<i64>(40'000'000, 1'000'000 * mesh.n(groups::data));
  struct Open {
    size_t bucket;
    i64 n = 0;
  };
  std::vector<Bucket> buckets;
  std::map<Kind, Open> open;
  const auto close_bucket = [&](const Kind& k, const Open& o) {
    close(mesh, k, o.n, parameters[buckets[o.bucket].members[0]], precision, buckets[o.bucket]);
  };
  for (size_t i = parameters.size(); i-- > 0;) {
    const Parameter& p = parameters[i];
    const Kind k = kind_of(p, config, coded && coded(p.name));
    auto it = open.find(k);
    if (it == open.end()) {
      it = open.emplace(k, Open{buckets.size()}).first;
      buckets.push_back({.name = fmt::format("bucket {}", buckets.size()),
                         .reduced = k.reduced,
                         .decay = k.decay,
                         .stacked = !k.stacked.empty(),
                         .own_rate = k.own_rate,
                         .stages = k.stages,
                         .coded = k.coded});
    }
    Open& o = it->second;
    Bucket& bucket = buckets[o.bucket];
    bucket.members.push_back(i), bucket.places.push_back(o.n);
    const i64 elements = local_type(mesh, p.type).elements();
    check(!bucket.stacked || elements % kAlignment == 0,
          "--use-distributed-optimizer: {} must not be split for its optimizer, but has {} elements on a rank, which "
          "is no "
          "multiple of {}: leave the flag out",
          p.name, elements, kAlignment);
    o.n += elements;
    if (!bucket.stacked) o.n = rounded_up(o.n, kStep);
    if (o.n < size || (bucket.stacked && i64(bucket.members.size()) % mesh.n(k.reduced) != 0)) continue;
    close_bucket(k, o);
    open.erase(it);
  }
  for (const auto& [k, o] : open) close_bucket(k, o);
  return buckets;
}

Value gradient_leaf(Builder& b, const Bucket& bucket) {
  return b.leaf({bucket.name + ".grad", bucket.gradient, Role::gradient});
}
Value weights_leaf(Builder& b, const Bucket& bucket) { return b.leaf({bucket.name, bucket.weights, Role::parameter}); }
Value weights_shard_leaf(Builder& b, const Bucket& bucket) {
  return b.leaf({bucket.name + ".shard", in_compute_precision(bucket), Role::parameter});
}
Value main_leaf(Builder& b, const Bucket& bucket) {
  Type type = bucket.shard;
  type.dtype = main_type(bucket.precision(), bucket.shard.dtype, bucket.host);
  return b.leaf({.name = main_name(bucket.name), .type = type, .role = Role::main_parameter, .host = bucket.host});
}
Value state_leaf(Builder& b, const Bucket& bucket, const OptimizerState& state) {
  const std::string name = fmt::format("{}.{}", bucket.name, state.suffix);
  const Type type{state.dtype, bucket.shard.shape, bucket.shard.layout};
  return b.leaf({.name = name, .type = type, .role = Role::optimizer, .host = bucket.host});
}

void place_members(Builder& b, const std::vector<Bucket>& buckets, const std::vector<Parameter>& parameters) {
  for (const Bucket& bucket : buckets)
    for (size_t i = 0; i < bucket.members.size(); ++i) {
      const Parameter& p = parameters[bucket.members[i]];
      const auto place = [&](const std::string& name, Value (*leaf_of_bucket)(Builder&, const Bucket&)) {
        const Value v = b.find_leaf(name);
        if (!v) return;
        const Value whole = leaf_of_bucket(b, bucket);
        b.graph().values[v.id].bucket = {whole, bucket.places[i]};
      };
      place(p.name, weights_leaf), place(p.name + ".grad", gradient_leaf);
    }
}

Graph take_main(const Mesh& mesh, const std::vector<Bucket>& buckets) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  b.set_phase(Phase::update), b.set_module("take main");
  for (const Bucket& bucket : buckets) {
    const Value gradient = gradient_leaf(b, bucket), main = main_leaf(b, bucket);
    if (!bucket.has_copy()) {
      b.move_into(gradient, bucket.reduced, split(bucket.cut_dim()), main);
      continue;
    }
    const Value part = b.relayout(gradient, bucket.reduced, split(bucket.cut_dim())),
                weights = weights_shard_leaf(b, bucket);
    const int ndim = bucket.shard.ndim();
    const bool low_half = b.type(main).dtype != bucket.shard.dtype;
    if (!low_half) b.add1(Accumulate{ndim, true}, {main, part});
    if (bucket.precision() == bucket.shard.dtype)
      b.add1(Accumulate{ndim, true}, {weights, part});
    else
      b.add(SplitMain{ndim, low_half}, low_half ? std::vector{part, weights, main} : std::vector{part, weights});
  }
  return g;
}

Graph spread_weights(const Mesh& mesh, const std::vector<Bucket>& buckets) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  b.set_phase(Phase::update), b.set_module("spread weights");
  for (const Bucket& bucket : buckets) {
    if (bucket.coded) continue;
    const Value part = bucket.has_copy() ? weights_shard_leaf(b, bucket) : main_leaf(b, bucket);
    b.move_into(part, bucket.reduced, kCopy, weights_leaf(b, bucket));
  }
  return g;
}

}  // namespace megalith
