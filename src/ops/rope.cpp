#include "ops/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace megalith {

using Kind = RopeScaling::Kind;

namespace {

double llama3(double f, const RopeScaling& by) {
  if (by.factor == 1) return f;
  const double wavelength = 2 * std::numbers::pi / f, length = double(by.original_length);
  if (wavelength > length / by.low_freq_factor) return f / by.factor;
  if (wavelength < length / by.high_freq_factor) return f;
  const double s = (length / wavelength - by.low_freq_factor) / (by.high_freq_factor - by.low_freq_factor);
  return (1 - s) * f / by.factor + s * f;
}

// The ends of yarn's ramp, as indices of frequencies. `over`: the divisor of exponents.
struct Ramp {
  double low, high;
  Ramp(const RopeScaling& by, double base, double over) {
    const auto at = [&](double turns) {
      return over * std::log(double(by.original_length) / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
    };
    low = at(by.beta_fast), high = at(by.beta_slow);
    if (by.whole_ends) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, over - 1);
    if (low == high) high += 0.001;
  }
  double operator()(i64 i) const { return std::clamp((double(i) - low) / (high - low), 0.0, 1.0); }
};

double grown_base(const RopeFrequencies& r, double over) {
  const RopeScaling& by = r.scaling;
  if (by.kind != Kind::dynamic || r.length <= by.original_length) return r.base;
  const double grown = by.factor * double(r.length) / double(by.original_length) - (by.factor - 1);
  return r.base * std::pow(grown, over / (over - 2));
}

}  // namespace

std::vector<double> RopeFrequencies::inverse() const {
  std::vector<double> out;
  const double over = double(width ? width : dims), own_base = grown_base(*this, over);
  std::optional<Ramp> ramp;
  if (scaling.kind == Kind::yarn) ramp.emplace(scaling, own_base, over);
  const std::vector<double>& divisors = length > scaling.original_length ? scaling.long_factors : scaling.short_factors;
  check(scaling.kind != Kind::longrope || i64(divisors.size()) == dims / 2,
        "[rope] longrope has {} factors for {} frequencies", divisors.size(), dims / 2);
  for (i64 i = 0; i < dims / 2; ++i) {
    double f = std::pow(own_base, -2.0 * double(i) / over);
    if (scaling.kind == Kind::llama3) f = llama3(f, scaling);
    if (ramp) f = f / scaling.factor * (*ramp)(i) + f * (1 - (*ramp)(i));
    if (scaling.kind == Kind::longrope) f /= divisors[size_t(i)];
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
