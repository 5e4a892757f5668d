// The relayout table: the identity on a logical tensor that brings the axes of one group from their common state to
// another. Its gradient is the relayout dual(to) -> dual(from) over the same axes, so the table is closed.
// docs/layouts.md, section 3.
#pragma once
#include <string_view>

#include "mesh/layout.h"

namespace megalith {

enum class Transfer : u8 {
  none,
  all_gather,
  all_reduce,
  reduce_scatter,
  all_to_all,
  all_reduce_max,
  slice,
  keep_one,
  pad,
  rotate
};
std::string_view name_of(Transfer t);
constexpr bool is_local(Transfer t) {
  return t == Transfer::none || t == Transfer::slice || t == Transfer::keep_one || t == Transfer::pad;
}

struct RelayoutPlan {
  Layout to;         // of the result
  State from;        // the axes' state before
  Order from_order;  // of a split that ends
  Transfer transfer;
  int from_rotated = 0;  // likewise
};

// Changes `axes`, as one group, to state `to` (with `order` and `rotated` for a split). Errors: the axes are in
// different states; there is no such relayout; a dim is not divisible; the axes are not the innermost of their dim, or
// are only a part of a zigzag or rotated split.
RelayoutPlan relayout_plan(const Mesh& mesh, const Shape& shape, const Layout& from, AxisSet axes, State to,
                           Order order = Order::block, int rotated = 0);

// Bytes each rank sends with ring algorithms; `bytes`: of the larger side on one rank; n: ranks of the group.
double wire_bytes(Transfer t, double bytes, int n);

}  // namespace megalith
