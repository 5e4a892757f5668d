#include "exec/sim/kernel_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "exec/sim/coded_form.h"
#include "ops/all.h"
#include "ops/einsum_plan.h"

namespace megalith::sim {

namespace {

using Buffers = std::vector<const Buffer*>;

struct Operands {
  std::vector<DType> ins, outs;
  std::vector<Shape> in, out;  // one rank's
};

Operands operands_of(const Plan& plan, const Program& p, const Instruction& in) {
  Operands o;
  const auto add = [&](const std::vector<int>& from, std::vector<DType>& types, std::vector<Shape>& shapes) {
    for (int b : from) {
      const Type& t = p.buffers[size_t(b)].type;
      types.push_back(t.dtype), shapes.push_back(local_shape(plan.mesh, t.shape, t.layout));
    }
  };
  add(in.ins, o.ins, o.in), add(in.outs, o.outs, o.out);
  return o;
}

cuda::LocalNode node_of(const Plan& plan, const Program& p, const Instruction& in) {
  cuda::LocalNode node{plan.mesh, Coord{}, {}, {}, {}};
  for (const int b : in.ins) node.ins.push_back(p.buffers[size_t(b)].type);
  for (const int b : in.outs) node.outs.push_back(p.buffers[size_t(b)].type);
  return node;
}

// Of many tensors each type once.
std::string dtypes(const std::vector<DType>& types) {
  constexpr size_t kListed = 10;
  std::vector<std::string> names;
  for (const DType t : types) {
    const std::string name(name_of(t));
    if (types.size() <= kListed || std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ","));
}

// w: the index of the second factor among the inputs. factors(plan): both in the form. adds: the added terms in the
// form.
std::optional<KernelKind> product(const std::string& spec, size_t w, auto&& factors, const std::string& adds,
                                  const Operands& o) {
  const auto [ins, outs] = split_spec(spec);
  const EinsumPlan plan =
      plan_einsum({{ins[0], o.in[0]}, {ins[1], o.in[w]}, {outs[0], o.out[0]}, {o.ins[0], o.ins[w], o.outs[0]}});
  if (plan.kind != EinsumPlan::kGemm) return {};
  const GemmSpec& g = plan.gemm;
  KernelKind k{KernelKind::Table::product, {}, {g.m, g.n, g.k}, 2.0 * double(g.m) * double(g.n) * double(g.k)};
  for (const Loop& l : plan.outer) k.work *= double(l.n);
  k.form = fmt::format("{} -> {}, {}{}{}{}", factors(plan), name_of(g.c.dtype), g.a.col == 1 ? 'n' : 't',
                       g.b.col == 1 ? 'n' : 't', adds, plan.outer.empty() ? "" : ", batch");
  return k;
}
std::optional<KernelKind> product(const Einsum& op, const Operands& o) {
  return product(
      op.spec, 1, [](const EinsumPlan& plan) { return name_of(plan.gemm.a.dtype); },
      fmt::format("{}{}", op.accumulate || op.plus ? ", adds" : "", op.bias ? ", bias" : ""), o);
}
std::optional<KernelKind> product(const QuantizedProduct& op, const Operands& o, const cuda::LocalNode& node) {
  return product(
      op.spec, 2, [&](const EinsumPlan& plan) { return factors_form(op, node, plan.swapped); },
      fmt::format("{}{}", op.accumulate || op.plus ? ", adds" : "", op.fast ? ", fast" : ""), o);
}

// q: the input q, or qkv if packed.
KernelKind attention(std::string_view name, const AttentionSpec& at, const Operands& o, const Shape& result, size_t q,
                     double flops) {
  const i64 keys = o.in[at.packed() ? q : q + 1][0];
  return {KernelKind::Table::attention,
          fmt::format("{} {}{}{}{}{}", name, name_of(o.ins[q]), at.window > 0 && at.window < keys ? ", window" : "",
                      at.alibi ? ", alibi" : "", at.dropout > 0 ? ", dropout" : "", at.starts ? ", documents" : ""),
          {result[0], keys, result[4], result[2] * result[3], result[1]},
          flops};
}

KernelKind memory(const Instruction& in, const Operands& o, double bytes) {
  std::string form = fmt::format("{} {} -> {}", in.op.name(), dtypes(o.ins), dtypes(o.outs));
  if (const auto* sum = in.op.get_if<Sum>()) form += ", " + sum->spec;
  if (const auto* cast = in.op.get_if<Quantize>()) form += ", " + cast_form(*cast);
  if (const auto* coded = in.op.get_if<CodedResult>()) form += ", " + casts_form(*coded);
  const bool many = o.ins.size() > 10;
  const Shape& first = o.in.empty() ? o.out.at(0) : o.in[0];
  return {KernelKind::Table::memory, form, {i64(bytes), many || first.empty() ? 1 : first.back()}, bytes};
}

// Rows and columns of a grouped product's result, and the summed size: the best single size for all groups. A gated
// first product has columns of gate and up, [n,2,f], unlike its second operand's gradient, [n,f]. x: the first operand.
std::vector<i64> largest_of(const Operands& o, const Shape& x) {
  const auto rows = [](const Shape& s) { return s.empty() ? i64{1} : std::max<i64>(s.front(), 1); };
  const auto columns = [&](const Shape& s) {
    i64 all = 1;
    for (const i64 n : s) all *= n;
    return all / rows(s);
  };
  const Shape& y = o.out.at(0);
  return {rows(y), columns(y), columns(x)};
}

}  // namespace

KernelKind kind_of(const Plan& plan, const Program& program, const Instruction& in) {
  const Operands o = operands_of(plan, program, in);
  const Cost cost = cost_of(plan, program, in);
  const auto with_bytes = [&](KernelKind kind, bool adds) {
    double result = double(size_of(o.outs[0]));
    for (const i64 n : o.out[0]) result *= double(n);
    kind.moved = cost.bytes, kind.reads_sums = adds ? result : 0;
    return kind;
  };
  if (const auto* e = in.op.get_if<Einsum>())
    if (auto kind = product(*e, o)) return with_bytes(*kind, e->accumulate);
  if (const auto* q = in.op.get_if<QuantizedProduct>())
    if (auto kind = product(*q, o, node_of(plan, program, in))) return with_bytes(*kind, q->accumulate);
  if (const auto* a = in.op.get_if<Attention>()) return attention(Attention::name, a->at, o, o.out[0], 0, cost.flops);
  if (const auto* a = in.op.get_if<AttentionGrad>())
    return attention(AttentionGrad::name, a->at, o, o.in[0], 1, cost.flops);
  // To the kernels a part of a ring is a whole attention with fewer keys.
  if (const auto* a = in.op.get_if<AttentionPart>())
    return attention(Attention::name, a->at, o, o.out[0], 0, cost.flops);
  if (const auto* a = in.op.get_if<AttentionPartGrad>())
    return attention(AttentionGrad::name, a->at, o, o.in[0], 1, cost.flops);
  const auto grouped = [&](const Shape& x, bool adds, std::string_view turned = "") {
    return with_bytes({KernelKind::Table::product, fmt::format("{} {}{}", in.op.name(), dtypes(o.ins), turned),
                       largest_of(o, x), cost.flops},
                      adds);
  };
  if (const auto* g = in.op.get_if<GroupedProduct>()) return grouped(o.in.at(0), g->accumulate);
  if (const auto* g = in.op.get_if<QuantizedGroupedProduct>())
    return grouped(g->turn(0).back(o.in.at(0)), g->accumulate, g->turned ? ", turned" : "");
  return memory(in, o, cost.bytes);
}

bool is_of_experts(const AnyOp& op) {
  return op.get_if<GroupedProduct>() != nullptr || op.get_if<QuantizedGroupedProduct>() != nullptr;
}

}  // namespace megalith::sim
