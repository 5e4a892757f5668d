// Divides layers among pipeline stages by cost, which is measured or estimated. The embedding belongs to the first
// part, head and loss to the last.
#pragma once
#include <vector>

#include "base/dtype.h"

namespace megalith {

// The number of layers of each of `parts` virtual stages, in order. The largest cost of a part is minimal. Among
// those splits it is the most even one (smallest sum of squares). Among those it has the fewest layers in the first
// parts, which hold the most micro-batches. `first_extra` is the embedding's cost, `last_extra` that of head and
// loss. Each part has at least one layer. Only a first or last part with an extra cost may have none. Exact; O(parts
// layers log(layers)), and much less if the largest cost leaves little choice. Error if there are too few layers, or if
// a cost is negative or not finite.
std::vector<i64> balance(const std::vector<double>& layer_costs, double first_extra, double last_extra, i64 parts);

}  // namespace megalith
