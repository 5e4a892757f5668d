// How layers are shared out over pipeline stages by what they cost, measured or estimated. The embedding belongs to the
// first part, head and loss to the last.
#pragma once
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Layers of each of `parts` virtual stages, in order, such that the largest cost of a part is as small as can be; among
// those the most even (least sum of squares), then the one with the fewest layers in the first parts, which hold the
// most micro-batches. `first_extra` is the embedding's cost, `last_extra` that of head and loss. Parts have at least
// one layer, but for a first or last one with an extra cost: it may stand alone. Exact; O(parts layers log(layers)),
// and much less where the largest cost leaves little choice. Error if there are too few layers or a cost is negative or
// not finite.
std::vector<i64> balance(const std::vector<double>& layer_costs, double first_extra, double last_extra, i64 parts);

}  // namespace megalith
