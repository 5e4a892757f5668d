// Main weights as bf16 weights and low halves: SplitMain, and the optimizers on them.
#include <limits>

#include "base/split_float.h"
#include "kernel_run.h"

namespace megalith::kernel_tests {

namespace {

// Both parts of f32 weights, as tensors.
struct Split {
  Tensor bf16_half, low_half;
};
Split split_of(const Tensor& w) {
  std::vector<double> bf16_half, low_half;
  for (const double x : w.x) bf16_half.push_back(bf16_half_of(float(x))), low_half.push_back(low_half_of(float(x)));
  return {tensor(DType::bf16, w.type.shape, bf16_half), tensor(DType::u16, w.type.shape, low_half)};
}

Tensor numbers(std::initializer_list<double> x) { return tensor(DType::f64, {i64(x.size())}, x); }

// A step on weights in both forms gives the same moments, and the two parts of the same weights. ins: w, g, moments,
// scalars, step_scalars_in.
template <class Op>
void expect_same_step(Op op, std::vector<Tensor> ins, const char* what) {
  op.copy = true;
  const Split before = split_of(ins[0]);
  ins.push_back(before.bf16_half);
  const auto want = run_kernel(op, ins);
  ins[0] = before.low_half;
  const auto got = run_kernel(op, ins);
  const Split after = split_of(want[0]);
  ASSERT_EQ(got.size(), want.size());
  EXPECT_EQ(got[0].x, after.low_half.x) << what;
  EXPECT_EQ(got.back().x, after.bf16_half.x) << what;
  EXPECT_EQ(want.back().x, after.bf16_half.x) << what << ", the copy of f32 weights";
  for (size_t i = 1; i + 1 < got.size(); ++i) EXPECT_EQ(got[i].x, want[i].x) << what << ", moment " << i;
}

}  // namespace

// Ties, signs, subnormals, the largest number, infinities, and numbers of all sizes.
TEST(SplitMain, parts_make_the_whole_and_near_is_nearest) {
  std::vector<double> x = {0.0, -0.0, 1, -1, 1.00390625, -1.00390625, 1.01171875, 1e-45, -1e-40, 3.4028234663852886e38};
  x.push_back(std::numeric_limits<double>::infinity()), x.push_back(-std::numeric_limits<double>::infinity());
  for (u32 bits = 0; bits < 0x7f800000u; bits += 0x0001c3a7u) x.push_back(std::bit_cast<float>(bits));
  const Tensor w = tensor(DType::f32, {i64(x.size())}, x);
  const Split empty = split_of(tensor(DType::f32, {i64(x.size())}, std::vector<double>(x.size(), 3)));
  const auto got = run_kernel(SplitMain{1, true}, {w, empty.bf16_half, empty.low_half});
  const auto bf16_half_alone = run_kernel(SplitMain{1, false}, {w, empty.bf16_half});
  EXPECT_EQ(bf16_half_alone[0].x, got[0].x);
  for (size_t i = 0; i < x.size(); ++i) {
    const float want = float(w.x[i]), bf16_half = float(got[0].x[i]);
    const float whole = join_float(bf16_half_of(bf16_half), u16(got[1].x[i]));
    ASSERT_EQ(std::bit_cast<u32>(whole), std::bit_cast<u32>(want)) << want;
    const float even = bf16(want);  // as near as this one
    if (std::isfinite(even)) ASSERT_LE(std::abs(double(bf16_half) - want), std::abs(double(even) - want)) << want;
  }
}

TEST(SplitMain, nan_stays_nan) {
  for (const u32 bits : {0x7fffffffu, 0x7f800001u, 0xffffffffu, 0xff80ffffu}) {
    const float x = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(float(bf16_half_of(x)))) << bits;
    EXPECT_TRUE(std::isnan(join_float(bf16_half_of(x), low_half_of(x)))) << bits;
  }
}

TEST(SplitMain, optimizers_make_the_same_of_both) {
  for (const i64 n : {0, 1, 7, 33, 129, 9001})
    for (const double counts : {1.0, 0.0}) {
      const Tensor w = random_tensor(DType::f32, {n}, 1), g = random_tensor(DType::f32, {n}, 2);
      const Tensor m = random_tensor(DType::f32, {n}, 3);
      Tensor v = random_tensor(DType::f32, {n}, 4);
      for (double& x : v.x) x = float(x * x);
      const Tensor scalars = numbers({0, 0, 0.25, counts}), h = numbers({0.01, 0.1, 0.19, 0.0975});
      expect_same_step(Update{.rule = AdamW{.beta2 = 0.95}, .ndim = 1}, {w, g, m, v, scalars, h}, "adamw");
      expect_same_step(Update{.rule = Sgd{}, .ndim = 1}, {w, g, m, scalars, h}, "sgd");
    }
}

// As for a large table: the gradient's rows without a mark do not count.
TEST(SplitMain, marked_rows_are_read) {
  for (const i64 width : {1, 7, 256}) {
    const i64 rows = 37;
    const Shape shape = {rows, width};
    const Split w = split_of(random_tensor(DType::f32, shape, 1));
    Tensor g = random_tensor(DType::f32, shape, 2), v = random_tensor(DType::f32, shape, 4), zeros = g;
    for (double& x : v.x) x = float(x * x);
    std::vector<double> marks;
    for (i64 i = 0; i < rows * width; ++i) {
      const bool has = i / width % 3 == 1;
      if (i % width == 0) marks.push_back(has);
      if (!has) zeros.x[size_t(i)] = 0, g.x[size_t(i)] = std::numeric_limits<double>::quiet_NaN();
    }
    Update op{.rule = AdamW{.beta2 = 0.95}, .ndim = 2, .copy = true};
    std::vector<Tensor> ins = {w.low_half,
                               zeros,
                               random_tensor(DType::f32, shape, 3),
                               v,
                               numbers({0, 0, 0.25, 1}),
                               numbers({0.01, 0.1, 0.19, 0.0975}),
                               w.bf16_half};
    const auto want = run_kernel(op, ins);
    op.marks = true, ins[1] = g, ins.push_back(tensor(DType::u8, {rows}, marks));
    const auto got = run_kernel(op, ins);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].x, want[i].x) << width << ": " << i;
  }
}

TEST(SplitMain, many_parameters_are_single_ones) {
  const Tensor scalars = numbers({0, 0, 0.25, 1}), h = numbers({0.01, 0.1, 0.19, 0.0975});
  MultiUpdate op{AdamW{.beta2 = 0.95}, true};
  std::vector<Tensor> ins, want;
  for (const i64 n : {1, 7, 0, 33, 9001, 40000}) {
    const Split w = split_of(random_tensor(DType::f32, {n}, u64(n)));
    const Tensor g = random_tensor(DType::f32, {n}, 2), m = random_tensor(DType::f32, {n}, 3);
    Tensor v = random_tensor(DType::f32, {n}, 4);
    for (double& x : v.x) x = float(x * x);
    ins.insert(ins.end(), {w.low_half, g, m, v, w.bf16_half});
    const Update one{op.rule, 1, n % 2 == 1, true};
    for (Tensor& t : run_kernel(one, {w.low_half, g, m, v, scalars, h, w.bf16_half})) want.push_back(std::move(t));
    op.decay.push_back(n % 2 == 1);
  }
  ins.push_back(scalars), ins.push_back(h);
  const auto got = run_kernel(op, ins);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].x, want[i].x) << "result " << i;
}

}  // namespace megalith::kernel_tests
