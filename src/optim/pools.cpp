#include "optim/pools.h"

#include <map>

#include "ops/split_main.h"
#include "ops/update.h"
#include "optim/update.h"

namespace megalith {

namespace {

constexpr i64 kStep = 128;  // elements between possible places: 256 bytes in bf16

i64 rounded_up(i64 n, i64 step) { return (n + step - 1) / step * step; }

struct Kind {  // what members of a pool have in common
  std::vector<Axis> reduced, split;
  bool decay, own_rate, tied;
  DType dtype;
  auto operator<=>(const Kind&) const = default;
};

Kind kind_of(const Parameter& p, bool own_rate) {
  Kind k{p.type.layout.copy.list(),
         {},
         p.decays(),
         own_rate,
         p.tied,
         p.type.dtype};  // a cotangent's sums are its weight's copies
  for (Axis a : kAllAxes)
    if (p.type.layout.state(a).is_split()) k.split.push_back(a);
  return k;
}

Type flat(const Mesh& mesh, const Kind& k, DType dtype, i64 n) {
  Type t{dtype, {mesh.n(k.split), n}, whole(2)};
  for (Axis a : k.split) t.layout.dims[0].push_back({a});
  return t;
}

void close(const Mesh& mesh, const Kind& k, i64 n, Pool& pool) {
  n = rounded_up(n, kStep * mesh.n(k.reduced));
  const DType wide = accum_of(k.dtype);
  pool.gradient = flat(mesh, k, wide, n), pool.weights = flat(mesh, k, k.dtype, n);
  pool.shard = flat(mesh, k, wide, n);
  for (Axis a : k.reduced) {
    pool.gradient.layout.partial.insert(a), pool.weights.layout.copy.insert(a);
    pool.shard.layout.dims[1].push_back({a});
  }
}

Type in_compute_precision(const Pool& pool) { return {pool.weights.dtype, pool.shard.shape, pool.shard.layout}; }

}  // namespace

bool has_own_rate(const Parameter& p, const OptimizerConfig& config) {
  return config.decoupled_lr && (p.kind == ParameterKind::embedding || p.kind == ParameterKind::output);
}

std::vector<Pool> make_pools(const Mesh& mesh, const std::vector<Parameter>& parameters, i64 size,
                             const OptimizerConfig& config) {
  if (size == 0) size = std::max<i64>(40'000'000, 1'000'000 * mesh.n(Axis::dp));
  struct Open {
    size_t pool;
    i64 n = 0;
  };
  std::vector<Pool> pools;
  std::map<Kind, Open> open;
  for (size_t i = parameters.size(); i-- > 0;) {
    const Kind k = kind_of(parameters[i], has_own_rate(parameters[i], config));
    auto it = open.find(k);
    if (it == open.end()) {
      it = open.emplace(k, Open{pools.size()}).first;
      pools.push_back({fmt::format("pool {}", pools.size()), {}, {}, k.reduced, k.decay, k.own_rate, k.tied});
    }
    auto& [at, n] = it->second;
    pools[at].members.push_back(i), pools[at].places.push_back(n);
    n = rounded_up(n + local_type(mesh, parameters[i].type).elements(), kStep);
    if (n < size) continue;
    close(mesh, k, n, pools[at]);
    open.erase(it);
  }
  for (const auto& [k, o] : open) close(mesh, k, o.n, pools[o.pool]);
  return pools;
}

Value gradient_leaf(Builder& b, const Pool& pool) {
  return b.leaf({pool.name + ".grad", pool.gradient, Role::gradient});
}
Value weights_leaf(Builder& b, const Pool& pool) { return b.leaf({pool.name, pool.weights, Role::parameter}); }
Value weights_shard_leaf(Builder& b, const Pool& pool) {
  return b.leaf({pool.name + ".shard", in_compute_precision(pool), Role::parameter});
}
Value state_leaf(Builder& b, const Pool& pool, std::string (*name)(const std::string&)) {
  const bool main = name == main_name;
  Type type = pool.shard;
  if (main) type.dtype = main_type(pool.weights.dtype, pool.host);
  const Role role = main ? Role::main_parameter : Role::optimizer;
  return b.leaf({.name = name(pool.name), .type = type, .role = role, .host = pool.host});
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
    const Value gradient = gradient_leaf(b, pool), main = state_leaf(b, pool, main_name);
    if (!pool.has_copy()) {
      b.move_into(gradient, pool.reduced, split(1), main);
      continue;
    }
    const Value part = b.relayout(gradient, pool.reduced, split(1)), weights = weights_shard_leaf(b, pool);
    const bool rest = b.type(main).dtype != pool.shard.dtype;
    if (!rest) b.add1(Accumulate{2, true}, {main, part});
    if (pool.weights.dtype == pool.shard.dtype)
      b.add1(Accumulate{2, true}, {weights, part});
    else
      b.add(SplitMain{2, rest}, rest ? std::vector{part, weights, main} : std::vector{part, weights});
  }
  return g;
}

Graph spread_weights(const Mesh& mesh, const std::vector<Pool>& pools) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  b.set_phase(Phase::update), b.set_module("spread weights");
  for (const Pool& pool : pools) {
    const Value part = pool.has_copy() ? weights_shard_leaf(b, pool) : state_leaf(b, pool, main_name);
    b.move_into(part, pool.reduced, kCopy, weights_leaf(b, pool));
  }
  return g;
}

}  // namespace megalith
