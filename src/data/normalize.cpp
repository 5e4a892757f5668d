#include "data/normalize.h"

#include <cmath>

#include "base/check.h"

namespace megalith {

double numpy_sum(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n > 128) {
    const std::size_t half = n / 2 / 8 * 8;
    return numpy_sum(values.first(half)) + numpy_sum(values.subspan(half));
  }
  std::size_t done = 0;
  double sum = 0;
  if (n >= 8) {
    double lane[8] = {};
    for (; done + 8 <= n; done += 8)
      for (int k = 0; k < 8; ++k) lane[k] += values[done + k];
    sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
  for (; done < n; ++done) sum += values[done];
  return sum;
}

std::vector<double> normalize(std::span<const double> values, const char* what) {
  for (double v : values)
    check(std::isfinite(v) && v >= 0, "{} holds {}: every value must be finite and not negative", what, v);
  const double sum = numpy_sum(values);
  check(sum > 0 && std::isfinite(sum), "{} sums to {}: give at least one value above zero", what, sum);
  std::vector<double> result(values.begin(), values.end());
  for (double& v : result) v /= sum;
  return result;
}

}  // namespace megalith
