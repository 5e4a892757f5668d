#include "data/split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "data/normalize.h"

namespace megalith {
namespace {

std::vector<double> numbers_of(const std::string& text) {
  // Quotes: from scripts that quote twice.
  constexpr std::string_view kNumber = "0123456789.", kSeparators = ",/ \t'\"";
  std::vector<double> numbers;
  for (std::size_t i = 0; i < text.size();) {
    if (kSeparators.find(text[i]) != std::string_view::npos) {
      ++i;
      continue;
    }
    const std::size_t end = std::min(text.find_first_not_of(kNumber, i), text.size());
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data() + i, text.data() + end, value);
    check(end > i && error == std::errc{} && stop == text.data() + end,
          "--split is \"{}\": want up to three numbers with commas, as in \"969, 30, 1\"", text);
    numbers.push_back(value);
    i = end;
  }
  return numbers;
}

}  // namespace

SplitMatrix parse_split(const std::string& text) {
  std::vector<double> weights = numbers_of(text);
  check(!weights.empty() && weights.size() <= 3,
        "--split is \"{}\", with {} numbers: want one to three (train, valid, test)", text, weights.size());
  weights.resize(3);
  const std::vector<double> shares = normalize(weights, "--split");
  SplitMatrix matrix;
  double begin = 0;
  for (int i = 0; i < 3; ++i) {
    const double end = begin + shares[i];
    if (end > begin) matrix[i] = Fraction{begin, end};
    begin = end;
  }
  return matrix;
}

SplitRanges split_ranges(const SplitMatrix& matrix, i64 elements) {
  const auto bound = [&](double fraction) {
    return std::min(elements, i64(std::nearbyint(fraction * double(elements))));  // rounds half to even
  };
  SplitRanges ranges;
  for (int i = 0; i < 3; ++i)
    if (matrix[i]) ranges[i] = Range{bound(matrix[i]->begin), bound(matrix[i]->end)};
  return ranges;
}

}  // namespace megalith
