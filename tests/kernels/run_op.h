// Runs one kernel as one rank, and checks all that a kernel may get wrong. Every buffer has guard bytes and is
// unaligned. The workspace starts as NaN. Inputs must not change. A second run, and each alias that the op allows, must
// give the same bits. Arrays hold doubles that were rounded to their dtype. So a plain definition in double has the
// same inputs as the kernel.
#pragma once
#include <gtest/gtest.h>

#include <functional>

#include "base/rng.h"
#include "tests/kernels/under_test.h"

namespace megalith::kernel_tests {

struct Array {
  Type type;  // logical; x holds a rank's part
  std::vector<double> x;

  double& operator[](i64 i) { return x[size_t(i)]; }
  double operator[](i64 i) const { return x[size_t(i)]; }
  i64 dim(int d) const { return type.dim(d); }
};

// f with the C++ type of any dtype.
template <class F>
void with_type(DType t, F&& f) {
  if (t == DType::i32) return f(i32{});
  if (t == DType::u16) return f(u16{});
  if (t == DType::i64) return f(i64{});
  if (size_of(t) == 1) return f(u8{});  // codes
  dispatch_float(t, [&]<class T>() { f(T{}); });
}

inline double rounded(DType t, double v) {
  double out = 0;
  with_type(t, [&](auto zero) { out = double(decltype(zero)(v)); });
  return out;
}

Array array(DType dtype, const Shape& shape, const std::function<double(i64)>& value);
inline Array normals(DType dtype, const Shape& shape, u64 seed, double scale = 1) {
  return array(dtype, shape, [&](i64 i) { return scale * normal(mix_all(seed, i)); });
}

// With all checks.
std::vector<Array> run_checked(const AnyOp& op, const std::vector<Array>& ins, const Place& place = {});
// Only with the checks of one run.
std::vector<Array> run_quick(const AnyOp& op, const std::vector<Array>& ins, const Place& place = {});

// Half a unit in the last place, relative: of a stored dtype, and of the arithmetic on it.
inline double storage_error(DType t) {
  return t == DType::f64 ? 0x1p-53 : t == DType::f32 ? 0x1p-24 : t == DType::f16 ? 0x1p-11 : 0x1p-8;
}
inline double arithmetic_error(DType t) { return t == DType::f64 ? 0x1p-53 : 0x1p-24; }

// |got - want| <= roundings * arithmetic error * scale + the rounding of the stored result. scale: the size of the
// summed terms.
struct Tolerance {
  DType arithmetic;
  double roundings;
  double scale = 1;
};
void expect_near(const Array& got, const std::vector<double>& want, const Tolerance& tol, const std::string& what);

// As with the ops' `gives_amax` false. The amax of the first result is the last one. Not in f64: an amax is f32.
template <class T>
void compare_amax(T op, const std::vector<Array>& ins, const std::vector<Array>& without) {
  if (without[0].type.dtype == DType::f64) return;
  op.gives_amax = true;
  const auto with = run_checked(op, ins);
  ASSERT_EQ(with.size(), without.size() + 1);
  for (size_t i = 0; i < without.size(); ++i) EXPECT_EQ(with[i].x, without[i].x) << i;
  double most = 0;
  for (const double x : without[0].x) most = std::max(most, std::abs(x));
  EXPECT_EQ(with.back().x, std::vector<double>{most}) << op.name;
}

double dot(const std::vector<double>& a, const std::vector<double>& b);

// Compares `grad`, the gradient of loss() with respect to ins[which], with central differences; loss reads `ins`. It
// checks at most 60 elements.
void expect_gradient(std::vector<Array>& ins, int which, const Array& grad, const std::function<double()>& loss);

// The rank's part of a logical array under `layout`.
Array slice(const Array& all, const Layout& layout, const Place& at);

}  // namespace megalith::kernel_tests
