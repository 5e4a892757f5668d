// A tensor cut into boxes: `box` has the size of a box along each dim. The last box of a dim may be shorter. Each box
// has one number in a grid, whose dims are the counts of boxes.
#pragma once
#include "graph/type.h"

namespace megalith {

// The f32 type of a grid with one number for each box of x. Each rank computes the numbers of its own elements. With
// `over_ranks` a box that covers a full dim may be on several ranks; the grid is then Max over the axes that split the
// dim. Error if another box is on several ranks, or if x is a sum that is not yet reduced.
Type grid_of(const Mesh& mesh, const Type& x, const Shape& box, bool over_ranks = false);

// The minimum number of consecutive indices along dim d that a rank holds.
i64 run_length(const Mesh& mesh, const Type& x, int d);

// The box for one scale "a tensor": all that one data-parallel rank has of x's micro-batch. Ranks that share experts
// share the box of their rows (ops/ragged.h).
Shape tensor_box(const Mesh& mesh, const Type& x);
// The type of the amax of such a box. Max over ranks that hold other parts of it.
Type tensor_amax(const Mesh& mesh, const Type& x);

// A box of at most `n` consecutive elements along `dims`, the last dim fastest, and 1 along other dims. It covers dims
// fully from the last one on, if they fit. It covers a part of the dim before them.
Shape row_box(const Shape& shape, const std::vector<int>& dims, i64 n);

}  // namespace megalith
