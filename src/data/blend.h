// Mixing several datasets: what the user says, and how many samples of each dataset a blend takes. After Megatron's
// blended datasets.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Datasets to mix; weights are empty if none were given.
struct Blend {
  std::vector<std::string> prefixes;
  std::vector<double> weights;
  std::vector<std::string> left_out{};  // prefixes with the weight 0, which are not among the others
};

// Reads the items of --data-path: prefixes, or pairs of weight and prefix. An odd number of items is prefixes only; an
// even number is pairs if every first item is a number, prefixes if none is. An item with blanks, "0.7 a 0.3 b", is
// several, unless a file has that name. `flag` names the option in errors.
Blend parse_blend(const std::vector<std::string>& items, const std::string& flag);

// How many samples of a dataset with the normalized weight w go into a blend of `size`, and how many it is built with.
i64 blend_used(double weight, i64 size);
i64 blend_built(double weight, i64 size, double surplus);

}  // namespace megalith
