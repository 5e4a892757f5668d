#include "ops/rope.h"

#include <cmath>
#include <numbers>

namespace megalith {

std::vector<double> RopeFrequencies::inverse() const {
  std::vector<double> out;
  const double over = double(width ? width : dims);
  for (i64 i = 0; i < dims / 2; ++i) {
    double f = std::pow(base, -2.0 * double(i) / over);
    if (factor != 1) {
      const double wavelength = 2 * std::numbers::pi / f;
      if (wavelength > original_max_position / low_freq_factor) {
        f /= factor;
      } else if (wavelength >= original_max_position / high_freq_factor) {
        const double s = (original_max_position / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
        f = (1 - s) * f / factor + s * f;
      }
    }
    out.push_back(f / position_scale);
  }
  return out;
}

LayoutRule Rope::rule() const {
  return {.spec = x + (positions ? ",sb->" : "->") + x, .linear = {{0}}, .whole = x.substr(x.size() - (heads ? 2 : 1))};
}

std::vector<Value> Rope::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  Rope back = *this;
  back.sign = -sign;
  if (!positions) return {b.add1(back, {dys[0]})};
  return {b.add1(back, {dys[0], n.ins[1]}), {}};
}

}  // namespace megalith
