// Compares attention with a table of relative positions with its definition in float64. Compares the buckets with first
// distances from Megatron's and Hugging Face's functions.
#include "ops/relative_positions.h"
#include "base/threads.h"
#include "tests/kernels/attention_case.h"

namespace megalith::kernel_tests {
namespace {

// The first distance of each bucket that has several.
std::vector<i64> far_buckets(bool both_sides, i64 buckets, i64 max_distance) {
  std::vector<i64> out;
  const i64 exact = (both_sides ? buckets / 2 : buckets) / 2;
  for (i64 distance = 1; distance <= 2 * max_distance; ++distance) {
    const int now = relative_bucket(-distance, both_sides, buckets, max_distance);
    if (now >= exact && now != relative_bucket(1 - distance, both_sides, buckets, max_distance))
      out.push_back(distance);
  }
  return out;
}

void compare_with_table(const Case& c) {
  compare(c);
  SCOPED_TRACE(print(c));
  const Plain want = plain(c);
  const Array o = array(c.dtype, c.dout.type.shape, [&](i64 i) { return want.o[size_t(i)]; });
  const Array lse = array(accum_of(c.dtype), {c.n.s, c.n.b, c.n.g, c.n.r}, [&](i64 i) { return want.lse[size_t(i)]; });
  const DType sums = accum_of(c.dtype);
  const auto g = run_checked(AttentionGrad{c.at, sums}, c.backward_ins(o, lse));
  Tolerance tol = tolerances(c).gradient;
  tol.scale *= 4 + std::sqrt(double(c.n.s * c.n.b));  // sums over sequences and queries
  expect_near(g[3], want.dtable, tol, "dtable");
}

const std::vector<AttentionSpec> kSpecs = {
    {.buckets = 32, .max_distance = 128},
    {.causal = false, .buckets = 32, .max_distance = 128},
    {.causal = false, .dropout = 0.2, .seed = 5, .lengths = true, .buckets = 8, .max_distance = 20},
    {.window = 40, .starts = true, .lengths = true, .buckets = 12, .max_distance = 24}};

}  // namespace

TEST(RelativePositions, buckets_begin_where_other_programs_have_them) {
  EXPECT_EQ(far_buckets(true, 32, 128), (std::vector<i64>{8, 12, 16, 23, 32, 46, 64, 91}));
  EXPECT_EQ(far_buckets(false, 32, 128),
            (std::vector<i64>{16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113}));
  EXPECT_EQ(relative_bucket(3, false, 32, 128), 0);  // a key after the query
  EXPECT_EQ(relative_bucket(3, true, 32, 128), 16 + 3);
  EXPECT_EQ(relative_bucket(-3, true, 32, 128), 3);
  EXPECT_EQ(relative_bucket(1 << 20, true, 32, 128), 31);
}

TEST(RelativePositions, is_its_definition) {
  for (DType t : {DType::f64, DType::f32, DType::bf16})
    for (const AttentionSpec& at : kSpecs)
      for (i64 s : {1, 33, 130})
        if (tested(t)) compare_with_table(make_case(t, {s, 3, 2, s == 33 ? 3 : 1, 8}, at));
}

// Sizes of every kernel's tiles, and distances beyond the largest on both sides.
TEST(RelativePositions, head_sizes) {
  for (i64 d : {64, 128, 256})
    for (const AttentionSpec& at : {kSpecs[0], kSpecs[2]})
      compare_with_table(make_case(DType::bf16, {200, 2, 1, 2, d}, at));
  compare_with_table(make_case(DType::f32, {130, 1, 1, 2, 256}, kSpecs[1]));
  compare_with_table(make_case(DType::bf16, {384, 1, 2, 1, 64}, kSpecs[1]));
}

TEST(RelativePositions, of_another_sequence) {
  for (i64 keys : {5, 70, 200}) compare_with_table(make_case(DType::f32, {65, 3, 2, 1, 8, keys}, kSpecs[2]));
  compare_with_table(make_case(DType::bf16, {150, 3, 2, 1, 64, 70}, kSpecs[2]));
}

TEST(RelativePositions, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  for (const AttentionSpec& at : kSpecs) {
    const Case c = make_case(DType::f64, {9, 3, 2, 2, 3}, at);
    std::vector<Array> ins = c.forward_ins();
    const auto y = run_quick(Attention{c.at}, ins);
    const auto g = run_quick(AttentionGrad{c.at, DType::f64}, c.backward_ins(y[0], y[1]));
    expect_gradient(ins, int(ins.size()) - 1, g[3],
                    [&] { return dot(run_quick(Attention{c.at}, ins)[0].x, c.dout.x); });
  }
}

TEST(RelativePositions, any_thread_count) {
  const Case c = make_case(DType::f32, {200, 1, 2, 2, 16}, kSpecs[1]);
  const auto y = run_quick(Attention{c.at}, c.forward_ins());
  const auto g = run_quick(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
  const int threads = num_threads();
  for (int n : {1, 3, 8}) {
    omp_set_num_threads(n);
    EXPECT_EQ(run_checked(Attention{c.at}, c.forward_ins())[0].x, y[0].x);
    expect_near(run_checked(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]))[3], g[3].x, {DType::f32, 64, 20},
                "dtable");
  }
  omp_set_num_threads(threads);
}

TEST(RelativePositions, tables_that_cannot_be_are_refused) {
  const Case c = make_case(DType::f32, {4, 1, 1, 1, 8}, {.buckets = 4, .max_distance = 4});
  for (const AttentionSpec& at : {AttentionSpec{.buckets = 5, .max_distance = 9},
                                  {.causal = false, .buckets = 2, .max_distance = 9},
                                  {.buckets = 32, .max_distance = 16},
                                  {.alibi = true, .buckets = 4, .max_distance = 9}})
    EXPECT_THROW(run_quick(Attention{at}, c.forward_ins()), Error);
}

}  // namespace megalith::kernel_tests
