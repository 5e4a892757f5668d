#include "graph/relayout_op.h"

#include <algorithm>

namespace megalith {

std::vector<Type> Relayout::infer(const InferArgs& a) const {
  const Type& t = a.ins.at(0);
  RelayoutPlan p = relayout_plan(a.mesh, t.shape, t.layout, axes, to, order, rotated);
  if (p.from != from || p.transfer != transfer || p.from_order != from_order || p.from_rotated != from_rotated)
    fail("relayout over {}: the value is {}, not {}", to_string(axes), to_string(p.from), to_string(from));
  const Type result{t.dtype, t.shape, std::move(p.to)};
  if (into && a.ins.at(1) != result)
    fail("relayout into a leaf: it is {}, the result {}", to_string(a.ins[1]), to_string(result));
  return {result};
}

std::vector<Value> Relayout::grad(Builder& b, const Node&, std::span<const Value> dys) const {
  return {b.relayout(dys[0], axes, from.dual(), from_order, from_rotated)};
}

Cost Relayout::cost(Types ins, Types outs) const {
  return {0, transfer == Transfer::none ? 0 : total_bytes(ins.first(1), outs)};
}

std::vector<int> Relayout::group(const Mesh& mesh, const Coord& coord) const {
  std::vector<int> out = mesh.group_of(coord, axes);
  if (!stages.empty())
    std::erase_if(out, [&](int rank) {
      return std::ranges::find(stages, mesh.place(mesh.coord(rank), groups::pipeline)) == stages.end();
    });
  return out;
}

std::vector<Type> StageTerm::infer(const InferArgs& a) const {
  Type t = a.ins.at(0);
  for (Axis a : groups::pipeline)
    check(t.layout.state(a) == kSame, "a stage's term is {} over {}", to_string(t.layout.state(a)), name_of(a));
  t.layout.partial.insert(groups::pipeline);
  return {t};
}

// The bits are equal either way, so nothing moves. A reduction leaves its result in place of its terms.
std::vector<Alias> Relayout::aliases() const {
  if (into) return {{0, 1, true}};
  if (in_place) return {{0, 0, true}};
  if (transfer == Transfer::none) return {{.out = 0, .in = 0, .view = true}};
  const bool reduces = transfer == Transfer::all_reduce || transfer == Transfer::all_reduce_max;
  if (reduces && lane == 0) return {{0, 0}};
  return {};
}

std::string letters(int ndim) { return std::string("abcdefgh").substr(0, ndim); }

LayoutRule AddGrad::rule() const {
  const std::string l = letters(ndim);
  return {.spec = l + "," + l + "->" + l, .linear = {{0, 1}}};
}

}  // namespace megalith
