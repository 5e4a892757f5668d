// Parses a mixture of datasets, and computes how many samples of each dataset it takes. After Megatron's blended
// datasets.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Datasets to mix; weights are empty if none are given.
struct Blend {
  std::vector<std::string> prefixes;
  std::vector<double> weights;
  std::vector<std::string> left_out{};  // prefixes with weight 0, which are not in `prefixes`
};

// Reads the items of --data-path: prefixes, or pairs of weight and prefix. An odd number of items means prefixes
// only. An even number means pairs if every first item is a number, prefixes if none is. An item with blanks, "0.7 a
// 0.3 b", is split, unless a file has that name. `flag` names the option in errors.
Blend parse_blend(const std::vector<std::string>& items, const std::string& flag);

// A blend of `size` uses blend_used samples of a dataset with normalized weight w. The dataset is built with
// blend_built.
i64 blend_used(double weight, i64 size);
i64 blend_built(double weight, i64 size, double surplus);

}  // namespace megalith
