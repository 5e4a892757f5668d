#include "data/blend.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/check.h"

namespace megalith {
namespace {

constexpr double kLowest = std::numeric_limits<double>::lowest();

std::string strip(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<double> number(const std::string& text) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (begin == end || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// Which of the datasets that may still give a sample lags most: the greatest weight * max(k, 1) - taken.
template <class MayGive>
std::size_t most_behind(std::span<const double> weights, std::span<const i64> taken, i64 k, MayGive may_give) {
  const double time = std::max(double(k), 1.0);
  std::size_t best = 0;
  double largest = kLowest;
  for (std::size_t d = 0; d < weights.size(); ++d) {
    const double due = weights[d] * time;  // rounded before the subtraction
    const double error = due - double(taken[d]);
    if (may_give(d) && error > largest) largest = error, best = d;
  }
  return best;
}

template <class MayGive>
BlendIndex build(std::span<const double> weights, i64 size, MayGive may_give) {
  constexpr std::size_t most = std::numeric_limits<std::int16_t>::max();
  check(weights.size() <= most, "a blend of {} datasets is too large: at most {} can be mixed", weights.size(), most);
  BlendIndex index;
  index.datasets.resize(size), index.samples.resize(size);
  std::vector<i64> taken(weights.size());
  for (i64 k = 0; k < size; ++k) {
    const std::size_t d = most_behind(weights, taken, k, [&](std::size_t i) { return may_give(i, taken[i]); });
    index.datasets[k] = std::int16_t(d);
    index.samples[k] = taken[d]++;
  }
  return index;
}

}  // namespace

Blend parse_blend(const std::vector<std::string>& items, const std::string& flag) {
  Blend blend;
  const std::size_t n = items.size();
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < n; i += 2) numbers += number(strip(items[i])).has_value();
  const bool pairs = n % 2 == 0 && n > 0 && numbers == n / 2;
  check(n % 2 == 1 || numbers == 0 || pairs,
        "{} has weights for {} of {} pairs: give WEIGHT PREFIX for every dataset, or prefixes alone", flag, numbers,
        n / 2);
  for (std::size_t i = 0; i < n; ++i) {
    if (pairs && i % 2 == 0)
      blend.weights.push_back(*number(strip(items[i])));
    else
      blend.prefixes.push_back(strip(items[i]));
  }
  for (const std::string& prefix : blend.prefixes)
    check(!prefix.empty(), "{} holds an empty name: give a prefix", flag);
  return blend;
}

i64 blend_used(double weight, i64 size) { return i64(std::ceil(double(size) * weight)); }

i64 blend_built(double weight, i64 size, double surplus) {
  return i64(std::ceil(std::ceil(double(size) * weight) * (1 + surplus)));
}

BlendIndex build_blend_index(std::span<const double> weights, i64 size) {
  return build(weights, size, [](std::size_t, i64) { return true; });
}

BlendIndex build_exhaustive_blend_index(std::span<const i64> sizes) {
  const i64 total = std::accumulate(sizes.begin(), sizes.end(), i64{0});
  std::vector<double> weights;
  for (i64 size : sizes) weights.push_back(double(size) / double(total));
  return build(weights, total, [&](std::size_t d, i64 taken) { return taken < sizes[d]; });
}

}  // namespace megalith
