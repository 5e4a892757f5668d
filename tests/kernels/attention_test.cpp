#include "base/threads.h"
#include "tests/kernels/attention_case.h"

namespace megalith::kernel_tests {

TEST(Attention, is_its_definition) {
  for (DType t : tested_dtypes())
    for (i64 s : {1, 5, 33, 65, 130})
      for (i64 d : {4, 8, 40, 64}) compare(make_case(t, {s, 2, 2, s == 33 ? 3 : 1, d}));
}

TEST(Attention, features) {
  const std::vector<AttentionSpec> specs = {{.window = 1},
                                            {.window = 7},
                                            {.window = 70},
                                            {.alibi = true},
                                            {.alibi = true, .alibi_scaled = true},
                                            {.starts = true},
                                            {.dropout = 0.3, .seed = 99},
                                            {.window = 40, .alibi = true, .dropout = 0.2, .seed = 5, .starts = true}};
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : specs)
      for (i64 s : {5, 33, 130}) compare(make_case(t, {s, 2, 2, 3, 8}, at));
}

// Attention without causality: over one sequence, over another, and with sequences that end early.
TEST(Attention, masks) {
  const std::vector<AttentionSpec> specs = {{.causal = false},
                                            {.causal = false, .lengths = true},
                                            {.causal = false, .dropout = 0.2, .seed = 5, .lengths = true},
                                            {.lengths = true},
                                            {.window = 9, .starts = true, .lengths = true}};
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : specs)
      for (i64 s : {1, 33, 130})
        for (i64 keys : {s, s / 2 + 1, 2 * s + 7})
          if (!at.causal || keys == s) compare(make_case(t, {s, 3, 2, 2, t == DType::bf16 ? 64 : 8, keys}, at));
  for (bool lengths : {false, true}) {
    compare(make_case(DType::bf16, {130, 3, 1, 2, 128, 257}, {.causal = false, .lengths = lengths}));
    compare(make_case(DType::bf16, {384, 3, 1, 2, 128}, {.causal = false, .lengths = lengths}));
    for (i64 d : {64, 96, 128})
      compare(make_case(DType::bf16, {256, 4, 3, 1, d}, {.causal = false, .lengths = lengths}));
    compare(make_case(DType::bf16, {96, 4, 3, 1, 64, 300}, {.causal = false, .lengths = lengths}));
  }
}

TEST(Attention, masks_that_do_not_go_together_are_refused) {
  const Case c = make_case(DType::f32, {4, 1, 1, 1, 8});
  for (AttentionSpec at : {AttentionSpec{.causal = false, .window = 2}, {.causal = false, .alibi = true}})
    EXPECT_THROW(run_quick(Attention{at}, c.forward_ins()), Error);
}

// With twelve heads slopes are no powers of two. bf16 cannot represent all positions above 256.
TEST(Attention, rounded_biases) {
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : {AttentionSpec{.alibi = true, .alibi_scaled = true},
                                    {.window = 70, .alibi = true, .alibi_scaled = true, .starts = true}})
      compare(make_case(t, {600, 1, 3, 4, 8}, at));
}

TEST(Attention, long_sequence_and_wide_heads) {
  compare(make_case(DType::f32, {300, 1, 1, 2, 128}));
  compare(make_case(DType::f32, {300, 1, 1, 1, 20}, {.window = 100}));
}

// Multi-head latent attention has smaller values. Larger ones are possible too.
TEST(Attention, values_of_another_size) {
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : {AttentionSpec{}, {.window = 40, .dropout = 0.2, .seed = 5, .starts = true}})
      for (i64 s : {1, 33, 130})
        for (auto [d, v] : {std::pair<i64, i64>{24, 20}, {20, 24}, {7, 3}, {64, 40}})
          compare(make_case(t, {s, 2, 2, 2, d, 0, v}, at));
  compare(make_case(DType::bf16, {200, 2, 4, 1, 192, 0, 128}));
  compare(make_case(DType::bf16, {384, 1, 4, 1, 192, 0, 128}));
  compare(make_case(DType::f32, {130, 1, 2, 1, 192, 0, 128}));
}

// Head sizes of real models, by both kernels of a GPU (cuDNN takes bf16 without starts).
TEST(Attention, head_sizes) {
  for (DType t : tested_dtypes())
    for (i64 d : {12, 72, 128, 256})
      for (bool starts : {false, true}) compare(make_case(t, {130, 1, 2, 2, d}, {.starts = starts}));
}

// Head sizes with tensor-core kernels on GPUs, at the edges of tiles.
TEST(Attention, tiles_of_tensor_cores) {
  for (i64 d : {64, 128})
    for (i64 s : {2, 130, 257, 384})
      for (i64 r : {1, 4}) compare(make_case(DType::bf16, {s, 2, r == 1 ? 2 : 1, r, d}));
}

// More tiles than a GPU has multiprocessors.
TEST(Attention, many_heads) {
  for (i64 d : {64, 128}) compare(make_case(DType::bf16, {130, 10, 7, 2, d}));
}

TEST(Attention, windows_of_wide_heads) {
  for (i64 window : {1, 60, 128, 1000})
    for (bool starts : {false, true})
      compare(make_case(DType::bf16, {260, 1, 2, 4, 64}, {.window = window, .starts = starts}));
}

TEST(Attention, large_scores_stay_finite) {
  Case c = make_case(DType::f32, {70, 1, 1, 1, 8});
  for (double& x : c.q.x) x *= 300;
  const auto y = run_checked(Attention{c.at}, c.forward_ins());
  for (double v : y[0].x) EXPECT_TRUE(std::isfinite(v));
  for (double v : y[1].x) EXPECT_TRUE(std::isfinite(v));
  for (const Array& g : run_checked(AttentionGrad{c.at}, c.backward_ins(y[0], y[1])))
    for (double v : g.x) EXPECT_TRUE(std::isfinite(v));
}

TEST(Attention, nan_is_not_hidden) {
  Case c = make_case(DType::f32, {20, 1, 1, 1, 8});
  c.q[3 * 8] = NAN;
  const auto y = run_quick(Attention{c.at}, c.forward_ins());
  EXPECT_TRUE(std::isnan(y[0][3 * 8]));
  EXPECT_FALSE(std::isnan(y[0][2 * 8]));
}

// q, k and v as one tensor [s,b,j,d]: query heads, key heads, value heads.
static Array packed(const Sizes& n, const Array& q, const Array& k, const Array& v) {
  const i64 heads = n.g * n.r, rows = n.s * n.b;
  Array out{{q.type.dtype, {n.s, n.b, heads + 2 * n.g, n.d}, whole(4)}, {}};
  for (i64 row = 0; row < rows; ++row)
    for (const auto& [part, width] : {std::pair{&q, heads * n.d}, {&k, n.g * n.d}, {&v, n.g * n.d}})
      out.x.insert(out.x.end(), part->x.begin() + row * width, part->x.begin() + (row + 1) * width);
  return out;
}

TEST(Attention, packed_gives_the_same_bits) {
  for (DType t : tested_dtypes())
    for (const AttentionSpec& at : {AttentionSpec{},
                                    {.window = 7},
                                    {.alibi = true, .dropout = 0.2, .starts = true},
                                    {.causal = false, .lengths = true}})
      for (const Sizes& n : {Sizes{33, 2, 2, 3, 8}, {70, 2, 3, 1, 64}, {130, 2, 1, 4, 128}}) {
        const Case c = make_case(t, n, at);
        const auto y = run_checked(Attention{c.at}, c.forward_ins());
        const auto g = run_checked(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
        AttentionSpec one = c.at;
        one.groups = n.g, one.heads_per_group = n.r;
        const Array qkv = packed(n, c.q, c.k, c.v);
        std::vector<Array> ins = {qkv, c.rows}, grad_ins = {c.dout, qkv, y[0], y[1], c.rows};
        if (at.starts) ins.push_back(c.starts), grad_ins.push_back(c.starts);
        if (at.lengths) ins.push_back(c.lengths), grad_ins.push_back(c.lengths);
        const auto packed_y = run_checked(Attention{one}, ins);
        EXPECT_EQ(packed_y[0].x, y[0].x);
        EXPECT_EQ(packed_y[1].x, y[1].x);
        EXPECT_EQ(run_checked(AttentionGrad{one}, grad_ins)[0].x, packed(n, g[0], g[1], g[2]).x);
      }
}

TEST(Attention, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  for (const AttentionSpec& at :
       {AttentionSpec{}, AttentionSpec{.window = 3, .alibi = true, .dropout = 0.25, .seed = 3, .starts = true}}) {
    const Case c = make_case(DType::f64, {9, 2, 2, 2, 3}, at);
    std::vector<Array> ins = c.forward_ins();
    const auto y = run_quick(Attention{c.at}, ins);
    const auto g = run_quick(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
    for (int i : {0, 1, 2})
      expect_gradient(ins, i, g[i], [&] { return dot(run_quick(Attention{c.at}, ins)[0].x, c.dout.x); });
  }
}

TEST(Attention, any_thread_count) {
  const Case c = make_case(DType::f32, {200, 1, 2, 2, 16}, {.window = 150});
  const auto y = run_quick(Attention{c.at}, c.forward_ins());
  const auto g = run_quick(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
  const int threads = num_threads();
  for (int n : {1, 3, 8}) {
    omp_set_num_threads(n);
    const auto y2 = run_checked(Attention{c.at}, c.forward_ins());
    EXPECT_EQ(y2[0].x, y[0].x);
    EXPECT_EQ(y2[1].x, y[1].x);
    const auto g2 = run_checked(AttentionGrad{c.at}, c.backward_ins(y[0], y[1]));
    for (int i : {0, 1, 2}) expect_near(g2[i], g[i].x, {DType::f32, 64, 4}, "gradient");
  }
  omp_set_num_threads(threads);
}

}  // namespace megalith::kernel_tests
