// Packs conversations into samples.
#pragma once
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// First fit: each length, in the given order, goes into the first bin with enough space, else into a new bin. Lengths
// are 1 to capacity. Bins contain indices into `lengths`, ascending. O(n log n).
std::vector<std::vector<i32>> pack_first_fit(std::span<const i64> lengths, i64 capacity);

}  // namespace megalith
