#include "ops/attention.h"

#include <bit>
#include <cmath>

#include "ops/relative_positions.h"

namespace megalith {

std::vector<double> alibi_slopes(i64 heads) {
  const i64 m = i64(std::bit_floor(u64(heads)));
  std::vector<double> out;
  for (i64 i = 1; i <= m; ++i) out.push_back(std::pow(2.0, -8.0 * double(i) / double(m)));
  for (i64 i = 1; i64(out.size()) < heads; i += 2) out.push_back(std::pow(2.0, -4.0 * double(i) / double(m)));
  return out;
}

std::vector<double> alibi_slopes(const AttentionSpec& at, i64 heads) {
  std::vector<double> slopes = alibi_slopes(heads);
  if (at.alibi_scaled)
    for (double& slope : slopes) slope = double(float(bf16(float(slope))));
  return slopes;
}

float rounded_alibi(float slope, i64 position) { return float(bf16(slope * float(bf16(float(position))))); }

// The letters of rows and of the optional inputs after them.
static std::string behind(const AttentionSpec& at) {
  check(at.causal || (at.window == 0 && !at.alibi && !at.starts),
        "[attention] a window, ALiBi and documents need a causal mask: {}", AnyOp(Attention{at}).print());
  check(!at.alibi || !at.lengths, "[attention] ALiBi is not there with lengths: {}", AnyOp(Attention{at}).print());
  check(!at.buckets || !(at.alibi || at.packed()),
        "[attention] a table of relative positions is not there with ALiBi or packed inputs: {}",
        AnyOp(Attention{at}).print());
  if (at.buckets) check_relative_buckets(!at.causal, at.buckets, at.max_distance);
  return std::string(",b") + (at.starts ? ",sb" : "") + (at.lengths ? ",b" : "") + (at.buckets ? ",grk" : "");
}

LayoutRule Attention::rule() const {
  if (at.packed())
    return {.spec = "sbjd" + behind(at) + "->sbgrd,sbgr",
            .whole = "sjd",
            .sizes = {{'g', at.groups}, {'r', at.heads_per_group}}};
  return {.spec = "sbgrd,tbgd,tbge" + behind(at) + "->sbgre,sbgr", .whole = at.buckets ? "tdek" : "tde"};
}

std::vector<Value> Attention::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  check(!dys[1], "the gradient of lse is not handled");
  if (at.packed()) {
    std::vector<Value> ins = {dys[0], n.ins[0], n.outs[0], n.outs[1]};
    ins.insert(ins.end(), n.ins.begin() + 1, n.ins.end());
    std::vector<Value> out = b.add(AttentionGrad{at}, ins);
    out.resize(n.ins.size());
    return out;
  }
  std::vector<Value> ins = {dys[0], n.ins[0], b.saved(n.ins[1]), b.saved(n.ins[2]), n.outs[0], n.outs[1]};
  ins.insert(ins.end(), n.ins.begin() + 3, n.ins.end());
  const DType dtable = at.buckets ? b.grad_dtype(n.ins.back()) : DType::f32;
  std::vector<Value> out = b.add(AttentionGrad{at, dtable}, ins);
  const Value of_table = at.buckets ? out.back() : Value{};
  out.resize(3), out.resize(n.ins.size());
  out.back() = of_table;
  return out;
}

// The number of query-key pairs of x [s,..], such as q: s * t; half of that if causal, s * window if that is less.
static double pairs(const Type& x, i64 keys, const AttentionSpec& at) {
  const double s = double(x.dim(0)), t = double(keys);
  const double most = at.causal ? t / 2 : t;
  const double seen = at.window > 0 && double(at.window) < most ? double(at.window) : most;
  return s * seen * double(x.elements() / std::max<i64>(1, x.dim(0)));
}

// One product of q and k, one with v. If packed, o has q's sizes.
Cost Attention::cost(Types ins, Types outs) const {
  const i64 keys = ins[at.packed() ? 0 : 1].dim(0);
  const Type &q = at.packed() ? outs[0] : ins[0], &o = outs[0];
  return {2 * pairs(q, keys, at) + 2 * pairs(o, keys, at), total_bytes(ins, outs)};
}

LayoutRule AttentionGrad::rule() const {
  if (at.packed()) return {.spec = "sbgrd,sbjd,sbgrd,sbgr" + behind(at) + "->sbjd", .linear = {{0}}, .whole = "sjdgr"};
  return {.spec = "sbgre,sbgrd,tbgd,tbge,sbgre,sbgr" + behind(at) + "->sbgrd,tbgd,tbge" + (at.buckets ? ",grk" : ""),
          .linear = {{0}},
          .whole = at.buckets ? "tdek" : "tde"};
}

std::vector<DType> AttentionGrad::dtypes(Types ins) const {
  std::vector<DType> out(at.packed() ? 1 : 3, ins[0].dtype);
  if (at.buckets) out.push_back(dtable);
  return out;
}

// The scores again, dq and dk; do v^T and dv.
Cost AttentionGrad::cost(Types ins, Types outs) const {
  const i64 keys = ins[at.packed() ? 1 : 2].dim(0);
  const Type &o = ins[0], &q = at.packed() ? o : ins[1];
  return {6 * pairs(q, keys, at) + 4 * pairs(o, keys, at), total_bytes(ins, outs)};
}

}  // namespace megalith
