#include "cli/fp8/vector_check.h"

#include <fmt/format.h>

#include <cmath>

#include "quant/tensor_core.h"

namespace megalith::fp8 {
namespace {

// A value and its bits.
std::string text_of(u8 x) { return fmt::format("{:02x}", x); }
std::string text_of(i32 x) { return fmt::format("{}", x); }
std::string text_of(float x) { return fmt::format("{} ({:08x})", x, std::bit_cast<u32>(x)); }
std::string text_of(double x) { return fmt::format("{} ({:016x})", x, std::bit_cast<u64>(x)); }
std::string text_of(bf16 x) { return fmt::format("{} ({:04x})", float(x), x.bits); }

bool same_bits(u8 a, u8 b) { return a == b; }
bool same_bits(i32 a, i32 b) { return a == b; }
bool same_bits(float a, float b) { return std::bit_cast<u32>(a) == std::bit_cast<u32>(b) || (a != a && b != b); }
bool same_bits(double a, double b) { return std::bit_cast<u64>(a) == std::bit_cast<u64>(b) || (a != a && b != b); }
bool same_bits(bf16 a, bf16 b) { return same_bits(float(a), float(b)); }

// The place of a flat index: "[3, 17]".
std::string place_of(size_t flat, const Shape& shape) {
  Shape place(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    place[d] = i64(flat) % shape[d];
    flat /= size_t(shape[d]);
  }
  return to_string(place);
}

}  // namespace

void VectorCheck::line(bool ok, const std::string& tensor, const Shape& shape, const std::string& text) {
  ++held_;
  failed_ += ok ? 0 : 1;
  fmt::print("{}  {:<48} {}\n", ok ? "pass" : "FAIL", fmt::format("{} {} {}", file_.name(), tensor, to_string(shape)),
             text);
}

template <class T, class Same>
void VectorCheck::compare(const std::string& tensor, const Shape& shape, std::span<const T> ours, Same&& same) {
  const std::vector<T> theirs = file_.read<T>(tensor, shape);
  check(ours.size() == theirs.size(), "{}: {} numbers of ours for {}", tensor, ours.size(), theirs.size());
  size_t differ = 0, first = 0;
  for (size_t i = ours.size(); i-- > 0;)
    if (!same(ours[i], theirs[i])) ++differ, first = i;
  if (differ == 0) return line(true, tensor, shape, "equal");
  line(false, tensor, shape,
       fmt::format("{} of {} differ, the first at {}: {}, want {}", differ, ours.size(), place_of(first, shape),
                   text_of(ours[first]), text_of(theirs[first])));
}

template <class T>
void VectorCheck::equal(const std::string& tensor, const Shape& shape, std::span<const T> ours) {
  compare<T>(tensor, shape, ours, [](T a, T b) { return same_bits(a, b); });
}

void VectorCheck::codes(const std::string& tensor, const Shape& shape, quant::Fp8 format, std::span<const u8> ours) {
  const auto is_nan = [format](u8 code) {
    return quant::with_format(format, [&]<class F>() { return F::is_nan(code); });
  };
  compare<u8>(tensor, shape, ours, [&](u8 a, u8 b) { return a == b || (is_nan(a) && is_nan(b)); });
}

void VectorCheck::same_numbers(const std::string& tensor, const Shape& shape, std::span<const float> ours) {
  compare<float>(tensor, shape, ours, [](float a, float b) { return a == b || (a != a && b != b); });
}

void VectorCheck::near(const std::string& tensor, const Shape& shape, std::span<const bf16> ours,
                       std::span<const double> bounds) {
  const std::vector<bf16> theirs = file_.read<bf16>(tensor, shape);
  size_t differ = 0, beyond = 0, first = 0;
  for (size_t i = theirs.size(); i-- > 0;) {
    if (same_bits(ours[i], theirs[i])) continue;
    ++differ;
    const double error = std::abs(double(ours[i]) - double(theirs[i]));
    if (!(error <= bounds[i])) ++beyond, first = i;
  }
  const std::string numbers =
      fmt::format("{} of {} differ, {} beyond the rounding of sums", differ, theirs.size(), beyond);
  if (beyond == 0) return line(true, tensor, shape, differ == 0 ? "equal" : numbers);
  line(false, tensor, shape,
       fmt::format("{}, the first at {}: {}, want {}", numbers, place_of(first, shape), text_of(ours[first]),
                   text_of(theirs[first])));
}

// The bound adds 2^-149, f32's smallest number. The sum adds 2^-136.
void VectorCheck::product(const std::string& tensor, const quant::Operand& a, const quant::Operand& b,
                          std::span<const float> given) {
  constexpr double kBound = 0x1p-13, kMeanBound = kBound / 10, kSmallest = 0x1p-136;
  const Shape shape = {a.rows, b.rows};
  const std::vector<double> theirs = file_.read<double>(tensor, shape);
  const quant::Product product = quant::multiply(a, b);
  const std::span<const float> ours = given.empty() ? std::span(product.out) : given;
  double largest = 0, squares = 0;
  size_t at = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (same_bits(ours[i], float(theirs[i]))) continue;
    const double error = std::abs(double(ours[i]) - theirs[i]) / (product.sums[i] + kSmallest);
    squares += error * error;
    if (!(error <= largest)) largest = error, at = i;  // NaN stays the largest
  }
  const double mean = std::sqrt(squares / double(theirs.size()));
  const bool ok = largest <= kBound && mean <= kMeanBound;
  const std::string where =
      ok ? ""
         : fmt::format(", the largest at {}: {}, want {}", place_of(at, shape), text_of(ours[at]), text_of(theirs[at]));
  line(ok, tensor, shape,
       fmt::format("error {:.1e} of the sum of absolute products, bound {:.1e}; rms {:.1e}, bound {:.1e}{}", largest,
                   kBound, mean, kMeanBound, where));
}

namespace {

// The loss of one product element on tensor cores. With scaled blocks a sum ends with each block, which is then
// scaled.
double lost_of_element(const quant::Operand& a, i64 m, const quant::Operand& b, i64 n) {
  const i64 part = std::min({a.width, b.width, i64{128}});
  double lost = 0;
  std::vector<double> products;
  for (i64 begin = 0; begin < a.k; begin += part) {
    products.clear();
    for (i64 c = begin; c < std::min(a.k, begin + part); ++c)
      products.push_back(double(a.values[size_t(m * a.k + c)]) * double(b.values[size_t(n * b.k + c)]));
    lost += quant::lost_on_tensor_cores(products) * a.scale(m, begin) * b.scale(n, begin);
  }
  return lost;
}

}  // namespace

// In addition, f32 sums round by one unit in the last place for each term.
void VectorCheck::product_of_codes(const std::string& tensor, const quant::Operand& a, const quant::Operand& b,
                                   std::span<const float> ours) {
  const Shape shape = {a.rows, b.rows};
  const std::vector<double> theirs = file_.read<double>(tensor, shape);
  const quant::Product product = quant::multiply(a, b);
  double largest = 0, share = 0, squares = 0, bounds = 0;
  size_t at = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    const double sum = product.sums[i];
    const double bound =
        lost_of_element(a, i64(i) / b.rows, b, i64(i) % b.rows) + double(a.k) * 0x1p-23 * sum + 0x1p-149;
    const double error = same_bits(ours[i], float(theirs[i])) ? 0 : std::abs(double(ours[i]) - theirs[i]);
    squares += error * error, bounds += bound * bound;
    largest = std::max(largest, sum > 0 ? error / sum : 0);
    if (!(error / bound <= share)) share = error / bound, at = i;  // NaN stays the largest
  }
  const double mean = std::sqrt(squares / bounds);
  const bool ok = share <= 1 && mean <= 0.5;
  const std::string where =
      ok ? ""
         : fmt::format(", the largest at {}: {}, want {}", place_of(at, shape), text_of(ours[at]), text_of(theirs[at]));
  line(ok, tensor, shape,
       fmt::format("error {:.2f} of what tensor cores may lose, rms {:.2f}, bound 0.5; {:.1e} of the sum of absolute "
                   "products{}",
                   share, mean, largest, where));
}

void VectorCheck::lacks(const std::string& tensor, const std::string& why) {
  file_.pass_over(tensor);
  ++lacking_;
  fmt::print("none  {:<48} {}\n", file_.name() + " " + tensor, why);
}

void VectorCheck::tell_unread() {
  for (const std::string& tensor : file_.unread()) {
    ++failed_;
    fmt::print("FAIL  {:<48} no check knows this tensor\n", file_.name() + " " + tensor);
  }
}

template void VectorCheck::equal(const std::string&, const Shape&, std::span<const u8>);
template void VectorCheck::equal(const std::string&, const Shape&, std::span<const i32>);
template void VectorCheck::equal(const std::string&, const Shape&, std::span<const float>);
template void VectorCheck::equal(const std::string&, const Shape&, std::span<const double>);
template void VectorCheck::equal(const std::string&, const Shape&, std::span<const bf16>);

}  // namespace megalith::fp8
