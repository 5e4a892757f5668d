#include "quant/tensor_core.h"

#include <algorithm>
#include <cmath>

namespace megalith::quant {
namespace {

constexpr i64 kAtOnce = 32;
constexpr int kBits = 13;

// The value of the last of the 13 bits below x. 0 has no step.
double step_below(double x) { return x == 0 ? 0 : std::ldexp(1.0, std::ilogb(x) - kBits); }

struct PartialSum {
  double exact = 0, lost = 0;

  double most() const { return std::abs(exact) + lost; }

  void add(std::span<const double> products) {
    double largest = 0;
    for (const double p : products) largest = std::max(largest, std::abs(p));
    if (largest == 0) return;
    const double step = step_below(std::max(largest, most()));
    i64 cut = most() > 0 ? 1 : 0;
    for (const double p : products) cut += std::trunc(p / step) != p / step ? 1 : 0, exact += p;
    lost += double(cut) * step;
    lost += step_below(most());
  }
};

}  // namespace

double lost_on_tensor_cores(std::span<const double> products, i64 part) {
  double lost = 0;
  const i64 n = i64(products.size());
  for (i64 begin = 0; begin < n; begin += part) {
    PartialSum sum;
    const i64 end = std::min(n, begin + part);
    for (i64 i = begin; i < end; i += kAtOnce) sum.add(products.subspan(size_t(i), size_t(std::min(kAtOnce, end - i))));
    lost += sum.lost;
  }
  return lost;
}

}  // namespace megalith::quant
