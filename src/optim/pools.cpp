#include "optim/pools.h"

#include <map>

#include "ops/split_main.h"
#include "ops/update.h"
#include "optim/optimizer.h"
#include "optim/update.h"

namespace megalith {

namespace {

constexpr i64 kStep = 128;     // elements between possible places: 256 bytes in bf16
constexpr i64 kAlignment = 8;  // of whole parameters one behind another: 16 bytes

i64 rounded_up(i64 n, i64 step) { return (n + step - 1) / step * step; }

struct Kind {  // what members of a pool have in common
  AxisSet reduced, split;
  bool decay, own_rate;
  std::vector<int> stages;
  std::string shared;  // its name, where several stages hold it: their lists of parameters may differ
  DType dtype;
  std::string_view updater;
  std::string stacked;  // the type of what must stay whole; else empty
  auto operator<=>(const Kind&) const = default;
};

Kind kind_of(const Parameter& p, const OptimizerConfig& config) {
  const Optimizer& updater = updater_of(config, p);
  Kind k{p.type.layout.copy, {}, p.decays(), has_own_rate(p, config), p.stages, p.tied() ? p.name : "", p.type.dtype,
         updater.name(),     {}};  // a cotangent's sums are its weight's copies
  for (const AxisList& dim : p.type.layout.dims) k.split.insert(dim.axes());
  if (updater.granularity() == Granularity::matrix) k.stacked = to_string(p.type);
  return k;
}

// On one rank: of a pool, `n` elements or whole parameters. `like`: one of its members.
Type type_of(const Mesh& mesh, const Kind& k, const Pool& pool, const Parameter& like, DType dtype, i64 n) {
  if (pool.stacked) {
    Type t{dtype, like.type.shape, whole(like.type.shape.size() + 1)};
    t.shape.insert(t.shape.begin(), n);
    std::ranges::copy(like.type.layout.dims, t.layout.dims.begin() + 1);
    return t;
  }
  Type t{dtype, {mesh.n(k.split), n}, whole(2)};
  t.layout.dims[0].add({k.split});
  return t;
}

void close(const Mesh& mesh, const Kind& k, i64 n, const Parameter& like, const Precision& precision, Pool& pool) {
  n = pool.stacked ? rounded_up(i64(pool.members.size()), mesh.n(k.reduced)) : rounded_up(n, kStep * mesh.n(k.reduced));
  pool.gradient = type_of(mesh, k, pool, like, precision.gradients, n);
  pool.weights = type_of(mesh, k, pool, like, k.dtype, n);
  pool.shard = type_of(mesh, k, pool, like, precision.main_parameters, n);
  pool.gradient.layout.partial.insert(k.reduced), pool.weights.layout.copy.insert(k.reduced);
  pool.shard.layout.dims[size_t(pool.cut_dim())].add({k.reduced});
}

Type in_compute_precision(const Pool& pool) { return {pool.weights.dtype, pool.shard.shape, pool.shard.layout}; }

}  // namespace

bool has_own_rate(const Parameter& p, const OptimizerConfig& config) {
  return config.decoupled_lr && (p.kind == ParameterKind::embedding || p.kind == ParameterKind::output);
}

std::vector<Pool> make_pools(const Mesh& mesh, const std::vector<Parameter>& parameters, i64 size,
                             const OptimizerConfig& config, const Precision& precision) {
  if (size == 0) size = std::max<i64>(40'000'000, 1'000'000 * mesh.n(groups::data));
  struct Open {
    size_t pool;
    i64 n = 0;
  };
  std::vector<Pool> pools;
  std::map<Kind, Open> open;
  const auto close_pool = [&](const Kind& k, const Open& o) {
    close(mesh, k, o.n, parameters[pools[o.pool].members[0]], precision, pools[o.pool]);
  };
  for (size_t i = parameters.size(); i-- > 0;) {
    const Parameter& p = parameters[i];
    const Kind k = kind_of(p, config);
    auto it = open.find(k);
    if (it == open.end()) {
      it = open.emplace(k, Open{pools.size()}).first;
      pools.push_back({.name = fmt::format("pool {}", pools.size()),
                       .reduced = k.reduced,
                       .decay = k.decay,
                       .stacked = !k.stacked.empty(),
                       .own_rate = k.own_rate,
                       .stages = k.stages});
    }
    Open& o = it->second;
    Pool& pool = pools[o.pool];
    pool.members.push_back(i), pool.places.push_back(o.n);
    const i64 elements = local_type(mesh, p.type).elements();
    check(
        !pool.stacked || elements % kAlignment == 0,
        "--use-distributed-optimizer: {} must stay whole for its optimizer, but has {} elements on a rank, which is no "
        "multiple of {}: leave the flag out",
        p.name, elements, kAlignment);
    o.n += elements;
    if (!pool.stacked) o.n = rounded_up(o.n, kStep);
    if (o.n < size || (pool.stacked && i64(pool.members.size()) % mesh.n(k.reduced) != 0)) continue;
    close_pool(k, o);
    open.erase(it);
  }
  for (const auto& [k, o] : open) close_pool(k, o);
  return pools;
}

Value gradient_leaf(Builder& b, const Pool& pool) {
  return b.leaf({pool.name + ".grad", pool.gradient, Role::gradient});
}
Value weights_leaf(Builder& b, const Pool& pool) { return b.leaf({pool.name, pool.weights, Role::parameter}); }
Value weights_shard_leaf(Builder& b, const Pool& pool) {
  return b.leaf({pool.name + ".shard", in_compute_precision(pool), Role::parameter});
}
Value main_leaf(Builder& b, const Pool& pool) {
  Type type = pool.shard;
  type.dtype = main_type(pool.weights.dtype, pool.shard.dtype, pool.host);
  return b.leaf({.name = main_name(pool.name), .type = type, .role = Role::main_parameter, .host = pool.host});
}
Value state_leaf(Builder& b, const Pool& pool, const OptimizerState& state) {
  const std::string name = fmt::format("{}.{}", pool.name, state.suffix);
  const Type type{state.dtype, pool.shard.shape, pool.shard.layout};
  return b.leaf({.name = name, .type = type, .role = Role::optimizer, .host = pool.host});
}

void place_members(Builder& b, const std::vector<Pool>& pools, const std::vector<Parameter>& parameters) {
  for (const Pool& pool : pools)
    for (size_t i = 0; i < pool.members.size(); ++i) {
      const Parameter& p = parameters[pool.members[i]];
      const auto place = [&](const std::string& name, Value (*leaf_of_pool)(Builder&, const Pool&)) {
        const Value v = b.find_leaf(name);
        if (!v) return;
        const Value whole = leaf_of_pool(b, pool);
        b.graph().values[v.id].pool = {whole, pool.places[i]};
      };
      place(p.name, weights_leaf), place(p.name + ".grad", gradient_leaf);
    }
}

Graph take_main(const Mesh& mesh, const std::vector<Pool>& pools) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  b.set_phase(Phase::update), b.set_module("take main");
  for (const Pool& pool : pools) {
    const Value gradient = gradient_leaf(b, pool), main = main_leaf(b, pool);
    if (!pool.has_copy()) {
      b.move_into(gradient, pool.reduced, split(pool.cut_dim()), main);
      continue;
    }
    const Value part = b.relayout(gradient, pool.reduced, split(pool.cut_dim())), weights = weights_shard_leaf(b, pool);
    const int ndim = pool.shard.ndim();
    const bool rest = b.type(main).dtype != pool.shard.dtype;
    if (!rest) b.add1(Accumulate{ndim, true}, {main, part});
    if (pool.weights.dtype == pool.shard.dtype)
      b.add1(Accumulate{ndim, true}, {weights, part});
    else
      b.add(SplitMain{ndim, rest}, rest ? std::vector{part, weights, main} : std::vector{part, weights});
  }
  return g;
}

Graph spread_weights(const Mesh& mesh, const std::vector<Pool>& pools) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  b.set_phase(Phase::update), b.set_module("spread weights");
  for (const Pool& pool : pools) {
    const Value part = pool.has_copy() ? weights_shard_leaf(b, pool) : main_leaf(b, pool);
    b.move_into(part, pool.reduced, kCopy, weights_leaf(b, pool));
  }
  return g;
}

}  // namespace megalith
