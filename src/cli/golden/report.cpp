#include "cli/golden/report.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace megalith {

void Report::line(const std::string& quantity, double error, double bound) {
  const bool ok = error <= bound;  // false for NaN
  ok_ &= ok;
  fmt::print("{}  {:<64} error {:.3e}  bound {:.1e}\n", ok ? "pass" : "FAIL", quantity, error, bound);
}

void Report::lacks(const std::string& quantity) {
  ok_ = false;
  fmt::print("FAIL  {:<64} our model does not give it\n", quantity);
}

double relative(const std::vector<float>& a, const std::vector<float>& b, double noise) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double diff = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i) diff += std::pow(double(a[i]) - b[i], 2), norm += double(b[i]) * b[i];
  if (std::sqrt(diff) <= noise) return 0;
  return norm > 0 ? std::sqrt(diff / norm) : std::sqrt(diff);
}

}  // namespace megalith
