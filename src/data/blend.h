// Mixing several datasets: which one each sample comes from. After Megatron's blended datasets (weights, sizes, greedy
// rule).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Datasets to mix; weights are empty if none were given.
struct Blend {
  std::vector<std::string> prefixes;
  std::vector<double> weights;
};

// Reads the items of --data-path: prefixes, or pairs of weight and prefix. An odd number of items is prefixes only; an
// even number is pairs if every first item is a number, prefixes if none is. `flag` names the option in errors.
Blend parse_blend(const std::vector<std::string>& items, const std::string& flag);

// How many samples of a dataset with the normalized weight w go into a blend of `size`, and how many it is built with.
i64 blend_used(double weight, i64 size);
i64 blend_built(double weight, i64 size, double surplus);

// Sample k of a blend is sample samples[k] of dataset datasets[k].
struct BlendIndex {
  std::vector<std::int16_t> datasets;
  std::vector<i64> samples;
};

// Each sample comes from the dataset that lags most behind its (normalized) weight, the lowest one on ties.
BlendIndex build_blend_index(std::span<const double> weights, i64 size);

// The same rule until every dataset is used up; sizes are numbers of samples.
BlendIndex build_exhaustive_blend_index(std::span<const i64> sizes);

}  // namespace megalith
