#include "mesh/relayout.h"

#include <algorithm>
#include <optional>

namespace megalith {

std::string_view name_of(Transfer t) {
  constexpr std::string_view names[] = {"none",       "all_gather",     "all_reduce", "reduce_scatter",
                                        "all_to_all", "all_reduce_max", "slice",      "keep_one",
                                        "pad",        "rotate"};
  return names[int(t)];
}

// Rows of the table: Same and Copy move the same bytes.
static std::optional<Transfer> transfer(State from, State to) {
  const bool from_equal = from == kSame || from == kCopy, to_equal = to == kSame || to == kCopy;
  if (from.is_split()) {
    if (to_equal) return Transfer::all_gather;
    if (to.is_split()) return Transfer::all_to_all;
    if (to == kPartial) return Transfer::pad;
  }
  if (from == kPartial) {
    if (to_equal) return Transfer::all_reduce;
    if (to.is_split()) return Transfer::reduce_scatter;
  }
  if (from == kMax && to_equal) return Transfer::all_reduce_max;
  if (from_equal) {
    if (to_equal) return Transfer::none;
    if (to.is_split()) return Transfer::slice;
    if (to == kPartial) return Transfer::keep_one;
  }
  return std::nullopt;
}

namespace {

// Refuses a part of a zigzag or rotated split: only the complete split can be added or removed. Parts of one rank do
// not count. Refuses every part of a ragged split.
void check_whole(const Mesh& mesh, const AxisList& dim, AxisSet axes, int number) {
  for (size_t i = 0; i < dim.size();) {
    const SplitOver s = dim.split_from(i);
    i += size_t(s.axes.size());
    const auto text = [&] { return to_string(Layout{{dim}, {}, {}, {}}); };
    if (s.order == Order::ragged && s.axes.meets(axes))
      fail("dim {} split as {} is ragged over {}: no relayout takes rows of experts", number, text(), to_string(axes));
    const AxisSet used = mesh.used(s.axes);
    const bool bound = s.order == Order::zigzag || s.rotated != 0;
    if (bound && used.meets(axes) && !axes.has(used))
      fail(
          "dim {} split as {}: {} is a part of a split in zigzag order or rotated, so it cannot be removed or added "
          "separately",
          number, text(), to_string(axes));
  }
}

// Whether `moving`, some of the axes that a relayout is over, may pass its neighbour in a dim's list: where both are
// parts of the dense axes that the relayout is over, and one of them of one rank; or where only `moving` is of one
// rank. (Not where both are, of other dense axes: a build on one rank finds the mistake.)
bool may_pass(const Mesh& mesh, AxisSet axes, AxisSet moving, AxisSet neighbour) {
  AxisSet parts;
  for (Axis a : axes) parts.insert(atoms_of(dense_axis(a)));
  if (parts.has({moving, neighbour})) return mesh.n(moving) == 1 || mesh.n(neighbour) == 1;
  return mesh.n(moving) == 1 && mesh.n(neighbour) > 1;
}

// Takes `axes`, the innermost of the dim, out of its list. Returns the last of them.
AxisUse leave(const Mesh& mesh, AxisList& dim, AxisSet axes, int number) {
  check_whole(mesh, dim, axes, number);
  AxisList rest;
  AxisSet leaving;
  AxisUse last = dim.back();
  for (const AxisUse& use : dim) {
    const bool leaves = axes.has(use.axis), fits = leaves ? leaving.empty() || use.axis > last.axis
                                                          : leaving.empty() || may_pass(mesh, axes, leaving, use.axis);
    if (!fits)
      fail("dim {} is split as {}: {} is not innermost, so it cannot be removed separately", number,
           to_string(Layout{{dim}, {}, {}, {}}), to_string(axes));
    if (leaves)
      leaving.insert(use.axis), last = use;
    else
      rest.push_back(use);
  }
  dim = rest;
  return last;
}

// Puts `split` innermost. Parts of one rank are in mesh order, so a removed and added split returns to its position.
void come(const Mesh& mesh, AxisList& dim, const SplitOver& split, int number) {
  for (Axis a : split.axes) {
    auto at = dim.end();
    while (at != dim.begin() && at[-1].axis > a && may_pass(mesh, split.axes, a, at[-1].axis)) --at;
    dim.insert(at, {a, split.order, split.rotated});
  }
  check_whole(mesh, dim, split.axes, number);
}

}  // namespace

RelayoutPlan relayout_plan(const Mesh& mesh, const Shape& shape, const Layout& from, AxisSet axes, State to,
                           Order order, int rotated) {
  check(!axes.empty(), "relayout over no axis");
  check(order != Order::ragged, "relayout to a ragged split: an op makes rows of experts");
  if (rotated != 0 && !(to.is_split() && is_of_one(axes)))
    fail("relayout to {} over {}: only a split of one axis rotates", to_string(to), to_string(axes));
  const State state = from.state(*axes.begin());
  for (Axis a : axes)
    if (from.state(a) != state)
      fail("relayout over {}: the axes are in different states ({} and {})", to_string(axes), to_string(state),
           to_string(from.state(a)));
  if (state == to && !to.is_split()) return {from, state, Order::block, Transfer::none};
  const auto kind = transfer(state, to);
  if (!kind) fail("no way from {} to {} over {}", to_string(state), to_string(to), to_string(axes));
  RelayoutPlan out{from, state, Order::block, *kind};
  Layout& l = out.to;
  if (state.is_split()) {
    const AxisUse last = leave(mesh, l.dims[state.dim], axes, state.dim);
    out.from_order = last.order, out.from_rotated = last.rotated;
    if (state == to && order == out.from_order && is_of_one(axes) && rotated != out.from_rotated)
      out.transfer = Transfer::rotate;
  }
  l.partial.erase(axes), l.copy.erase(axes), l.max.erase(axes);
  if (to.is_split()) {
    if (to.dim < 0 || to.dim >= int(shape.size()))
      fail("relayout to {} of a {}-dimensional value", to_string(to), shape.size());
    come(mesh, l.dims[to.dim], {axes, order, rotated}, to.dim);
  }
  if (to == kPartial) l.partial.insert(axes);
  if (to == kCopy) l.copy.insert(axes);
  if (to == kMax) l.max.insert(axes);
  local_shape(mesh, shape, l);
  return out;
}

double wire_bytes(Transfer t, double bytes, int n) {
  const double part = double(n - 1) / n;
  switch (t) {
    case Transfer::all_reduce:
    case Transfer::all_reduce_max:
      return 2 * bytes * part;
    case Transfer::all_gather:
    case Transfer::reduce_scatter:
    case Transfer::all_to_all:
      return bytes * part;
    case Transfer::rotate:
      return n > 1 ? bytes : 0;
    default:
      return 0;
  }
}

}  // namespace megalith
