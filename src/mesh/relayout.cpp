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

RelayoutPlan relayout_plan(const Mesh& mesh, const Shape& shape, const Layout& from, const std::vector<Axis>& axes,
                           State to, Order order, int rotated) {
  check(!axes.empty(), "relayout over no axis");
  check(rotated == 0 || (to.is_split() && axes.size() == 1), "relayout to {} over {}: only a split of one axis rotates",
        to_string(to), to_string(axes));
  const State state = from.state(axes[0]);
  for (Axis a : axes)
    check(from.state(a) == state, "relayout over {}: the axes are in different states ({} and {})", to_string(axes),
          to_string(state), to_string(from.state(a)));
  if (state == to && !to.is_split()) return {from, state, Order::block, Transfer::none};
  const auto kind = transfer(state, to);
  check(kind.has_value(), "no way from {} to {} over {}", to_string(state), to_string(to), to_string(axes));
  RelayoutPlan out{from, state, Order::block, *kind};
  Layout& l = out.to;
  if (state.is_split()) {
    AxisList& dim = l.dims[state.dim];
    const bool innermost =
        dim.size() >= axes.size() && std::equal(axes.begin(), axes.end(), dim.end() - axes.size(),
                                                [](Axis a, const AxisUse& u) { return a == u.axis; });
    check(innermost, "dim {} is split as {}: {} is not innermost, so it cannot leave alone", state.dim,
          to_string(Layout{{dim}, {}, {}, {}}), to_string(axes));
    out.from_order = dim.back().order, out.from_rotated = dim.back().rotated;
    if (state == to && order == out.from_order && axes.size() == 1 && rotated != out.from_rotated)
      out.transfer = Transfer::rotate;
    dim.resize(dim.size() - axes.size());
  }
  for (Axis a : axes) {
    l.partial.erase(a), l.copy.erase(a), l.max.erase(a);
    if (to.is_split()) {
      check(to.dim >= 0 && to.dim < int(shape.size()), "relayout to {} of a {}-dimensional value", to_string(to),
            shape.size());
      l.dims[to.dim].push_back({a, order, rotated});
    }
    if (to == kPartial) l.partial.insert(a);
    if (to == kCopy) l.copy.insert(a);
    if (to == kMax) l.max.insert(a);
  }
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
