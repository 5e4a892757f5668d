// Random numbers keyed by global indices: an element draws the same number under every layout.
#pragma once
#include "graph/type.h"

namespace megalith {

// Elements mean + std * normal(key, its indices), or uniform numbers of that mean and deviation; rows of dim 0 from
// `true_rows` on are 0 (padding).
struct Draw {
  u64 key = 0;
  double mean = 0, std = 0;
  i64 true_rows = 0;
  bool uniform = false;
};

// Writes the block that the rank at `coord` holds of a tensor of this type, as f32.
void draw(const Draw& d, const Type& type, const Mesh& mesh, const Coord& coord, float* out);

}  // namespace megalith
