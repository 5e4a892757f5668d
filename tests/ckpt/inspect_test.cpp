// The counts of `inspect`: elements of a rank's own copy, and those whose bits differ.
#include "ckpt/inspect.h"

#include <cmath>
#include <limits>

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

TEST(Inspect, counts_what_a_ranks_own_copy_holds) {
  TempDir dir;
  const float data[] = {1, 2, 3, 4, 5, 6};
  save_checkpoint(
      dir.path(), {.iteration = 3},
      std::vector<SaveTensor>{{"block", {2, 3}, DType::f32, data, {4, 3}, {2, 0}}, {"whole", {6}, DType::f32, data}});
  expect_error([&] { (void)open_checkpoint(dir.path()); }, "have 6 of 12 elements");  // no checkpoint of a whole run
  const RawCheckpoint raw = open_raw_checkpoint(dir.path());
  EXPECT_EQ(raw.path, dir / "iter_0000003");
  EXPECT_EQ(raw.parts, (std::vector<i64>{1, 1}));
  EXPECT_EQ(raw.held, (std::vector<i64>{6, 6}));
  EXPECT_EQ(raw.tensors->tensors()[0].shape, (Shape{4, 3}));
}

template <class T>
TensorDifference difference_of(DType type, const std::vector<T>& a, const std::vector<T>& b) {
  TempDir dir;
  const auto save = [&](const std::string& name, const std::vector<T>& values) {
    save_checkpoint(dir / name, {.iteration = 1},
                    std::vector<SaveTensor>{{"x", {i64(values.size())}, type, values.data()}});
    return open_raw_checkpoint(dir / name).tensors;
  };
  const auto x = save("a", a), y = save("b", b);
  return difference(*x, 0, *y, 0);
}

TEST(Inspect, finds_every_bit_that_differs) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  TensorDifference d = difference_of<float>(DType::f32, {0, 1, nan, inf}, {0, 1, nan, inf});
  EXPECT_EQ(d.differing, 0);
  d = difference_of<float>(DType::f32, {0, 1, nan, inf}, {-0.0F, 1, -nan, inf});
  EXPECT_EQ(d.differing, 2);
  EXPECT_EQ(d.max_abs, 0);
  EXPECT_EQ(d.max_rel, 0);
  d = difference_of<float>(DType::f32, {0, 1, 2}, {0, 1.5, 2});
  EXPECT_EQ(d.differing, 1);
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_TRUE(std::isinf(difference_of<float>(DType::f32, {nan}, {1}).max_abs));
  EXPECT_EQ(difference_of<double>(DType::f64, {1}, {1 + 1e-15}).differing, 1);  // beyond f32's digits
  EXPECT_EQ(difference_of<u16>(DType::bf16, {0x8000, 0x3f80}, {0, 0x3f80}).differing, 1);
  EXPECT_EQ(difference_of<i64>(DType::i64, {1, i64{1} << 60}, {1, (i64{1} << 60) + 1}).differing, 1);
}

// -0 as f32 and 0 as bf16 are equal values.
TEST(Inspect, compares_two_types_by_their_values) {
  TempDir dir;
  const float a[] = {-0.0F, 1, 1.001F};
  const bf16 b[] = {bf16(0.0F), bf16(1.0F), bf16(1.001F)};
  save_checkpoint(dir / "a", {.iteration = 1}, std::vector<SaveTensor>{{"x", {3}, DType::f32, a}});
  save_checkpoint(dir / "b", {.iteration = 1}, std::vector<SaveTensor>{{"x", {3}, DType::bf16, b}});
  const auto x = open_raw_checkpoint(dir / "a").tensors, y = open_raw_checkpoint(dir / "b").tensors;
  EXPECT_EQ(difference(*x, 0, *y, 0).differing, 1);
}

// As f32 the first would be 1, the second infinite.
TEST(Inspect, computes_with_all_digits_of_f64) {
  TempDir dir;
  const double a[] = {1 + 1e-12, 1e300};
  const float b[] = {1, std::numeric_limits<float>::infinity()};
  save_checkpoint(dir / "a", {.iteration = 1}, std::vector<SaveTensor>{{"x", {2}, DType::f64, a}});
  save_checkpoint(dir / "b", {.iteration = 1}, std::vector<SaveTensor>{{"x", {2}, DType::f32, b}});
  const auto x = open_raw_checkpoint(dir / "a").tensors, y = open_raw_checkpoint(dir / "b").tensors;
  EXPECT_EQ(difference(*x, 0, *y, 0).differing, 2);
  EXPECT_EQ(difference_of<double>(DType::f64, {1}, {1 + 1e-12}).max_abs, 1 + 1e-12 - 1);
  const TensorStats s = stats_of(*x, 0);
  EXPECT_EQ(s.infinite, 0);
  EXPECT_EQ(s.min, a[0]);
  EXPECT_EQ(s.max, a[1]);
  EXPECT_EQ(s.norm, a[1]);
  EXPECT_DOUBLE_EQ(s.deviation, 0.5e300);
}

}  // namespace
}  // namespace megalith
