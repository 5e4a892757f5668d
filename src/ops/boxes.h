// A tensor cut into boxes: `box` has the sizes of one along each dim. The last box of a dim may be shorter. Each box
// has one number in a grid, whose dims are the counts of boxes.
#pragma once
#include "graph/type.h"

namespace megalith {

// The type, in f32, of one number for each box of x; each rank computes those of its own elements. With `over_ranks`
// a box that holds all of a dim may be on several ranks: the grid is then Max over the axes that split it. Error if
// another box is on several ranks, or if x is a sum that is not yet reduced.
Type grid_of(const Mesh& mesh, const Type& x, const Shape& box, bool over_ranks = false);

// How many neighbours along dim d a rank holds at least.
i64 run_length(const Mesh& mesh, const Type& x, int d);

// The box that holds all that one data-parallel rank has of x's micro-batch, or all of a weight: one scale "a tensor".
Shape tensor_box(const Mesh& mesh, const Type& x);

// The box of at most `n` consecutive elements along `dims` together, the last of them fastest, and 1 along the others:
// dims that fit whole, from the last one on, and a part of the one before them.
Shape row_box(const Shape& shape, const std::vector<int>& dims, i64 n);

}  // namespace megalith
