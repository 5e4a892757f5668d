#include "tests/kernels/run_op.h"

#include "base/threads.h"

namespace megalith::kernel_tests {

struct NormCase {
  bool centred;  // LayerNorm, else RMSNorm
  i64 rows, h;
  double eps = 1e-5;
};

struct Plain {
  std::vector<double> y, mean, rstd, dx, dw, dc;
};

static Plain plain(const NormCase& k, const Array& dy, const Array& x, const Array& w, const Array* c) {
  Plain out;
  out.dw.assign(size_t(k.h), 0), out.dc.assign(size_t(k.h), 0);
  for (i64 r = 0; r < k.rows; ++r) {
    const i64 at = r * k.h;
    double mean = 0, var = 0, mean_g = 0, mean_gn = 0;
    for (i64 i = 0; k.centred && i < k.h; ++i) mean += x[at + i] / double(k.h);
    for (i64 i = 0; i < k.h; ++i) var += (x[at + i] - mean) * (x[at + i] - mean) / double(k.h);
    const double rstd = 1 / std::sqrt(var + k.eps);
    for (i64 i = 0; i < k.h; ++i) {
      const double n = (x[at + i] - mean) * rstd, g = dy[at + i] * w[i];
      out.y.push_back(n * w[i] + (c ? (*c)[i] : 0));
      mean_g += k.centred ? g / double(k.h) : 0, mean_gn += g * n / double(k.h);
      out.dw[i] += dy[at + i] * n, out.dc[i] += dy[at + i];
    }
    for (i64 i = 0; i < k.h; ++i)
      out.dx.push_back(rstd * (dy[at + i] * w[i] - mean_g - (x[at + i] - mean) * rstd * mean_gn));
    out.mean.push_back(mean), out.rstd.push_back(rstd);
  }
  return out;
}

// With the bias the results are the same, and its gradient is the sum of dx.
template <class Gradient>
static void compare_bias(Gradient op, const std::vector<Array>& ins, const std::vector<Array>& without) {
  op.bias = true;
  const auto with = run_checked(op, ins);
  const Array& dx = without[0];
  const i64 h = dx.type.shape.back(), rows = i64(dx.x.size()) / h;
  std::vector<double> sums(size_t(h), 0);
  double size = 0;
  for (i64 i = 0; i < rows * h; ++i) sums[size_t(i % h)] += dx[i], size = std::max(size, std::abs(dx[i]));
  for (size_t i = 0; i < without.size(); ++i) EXPECT_EQ(with[i].x, without[i].x) << i;
  const double chain = std::sqrt(double(rows));
  expect_near(with.back(), sums, {DType::f32, 4 + chain, size * chain}, "bias");
}

// With the bias and without.
static void compare_gradient_amax(RmsNormGrad op, const std::vector<Array>& ins, const std::vector<Array>& without) {
  compare_amax(op, ins, without);
  op.bias = true;
  compare_amax(op, ins, run_checked(op, ins));
}

// With the statistics of the forward there is y again, to the bit, and the other results do not change.
static void compare_with_output(const NormCase& k, const std::vector<Array>& y, std::vector<Array> dy_x_w,
                                const Array& c, const Array& beside) {
  const DType at = accum_of(y[0].type.dtype);
  dy_x_w.insert(dy_x_w.end(), y.begin() + 1, y.end());
  for (bool residual : {false, true}) {
    std::vector<Array> ins = dy_x_w;
    if (residual) ins.push_back(beside);
    std::vector<Array> plain, with_output;
    if (k.centred) {
      plain = run_checked(LayerNormGrad{"sbh", at, residual}, ins);
      ins.push_back(c);
      with_output = run_checked(LayerNormGrad{"sbh", at, residual, true}, ins);
      compare_bias(LayerNormGrad{"sbh", at, residual, true}, ins, with_output);
    } else {
      plain = run_checked(RmsNormGrad{"sbh", at, residual}, ins);
      with_output = run_checked(RmsNormGrad{"sbh", at, residual, true}, ins);
      compare_bias(RmsNormGrad{"sbh", at, residual, true}, ins, with_output);
      compare_gradient_amax({"sbh", at, residual}, ins, plain);
      compare_gradient_amax({"sbh", at, residual, true}, ins, with_output);
    }
    EXPECT_EQ(with_output.back().x, y[0].x);
    with_output.pop_back();
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(with_output[i].x, plain[i].x) << i;
  }
}

static void compare(const NormCase& k, DType t) {
  SCOPED_TRACE(fmt::format("{} {} rows {} h {}", k.centred ? "layer_norm" : "rms_norm", name_of(t), k.rows, k.h));
  const DType at = accum_of(t);
  const Array x = array(t, {k.rows, 1, k.h}, [&](i64 i) { return 0.3 + normal(mix_all(1, i)); });
  const Array w = array(t, {k.h}, [&](i64 i) { return 1 + 0.2 * normal(mix_all(2, i)); });
  const Array c = normals(t, {k.h}, 3), dy = normals(t, x.type.shape, 4);
  const Plain want = plain(k, dy, x, w, k.centred ? &c : nullptr);
  // Sums use 4 x lanes chains, with at most h / 32 roundings, which grow like the root. rstd <= 1 / sqrt(eps) if h is
  // 1.
  const double roundings = 16 + 2 * std::sqrt(double(k.h)), big = k.h == 1 && k.centred ? 400 : 10;
  const Array mean = array(at, {k.rows, 1}, [&](i64 i) { return want.mean[i]; });
  const Array rstd = array(at, {k.rows, 1}, [&](i64 i) { return want.rstd[i]; });
  const Array beside = normals(t, x.type.shape, 5);
  std::vector<double> sum = want.dx;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += beside.x[i];
  std::vector<Array> y, g, both;
  if (k.centred) {
    y = run_checked(LayerNorm{"sbh", k.eps}, {x, w, c}),
    g = run_checked(LayerNormGrad{"sbh", at}, {dy, x, w, mean, rstd});
    both = run_checked(LayerNormGrad{"sbh", at, true}, {dy, x, w, mean, rstd, beside});
    EXPECT_EQ(both[2].x, g[2].x);
    expect_near(y[1], want.mean, {t, roundings}, "mean");
    expect_near(g[2], want.dc, {t, 4 + std::sqrt(double(k.rows)), std::sqrt(double(k.rows))}, "dc");
  } else {
    y = run_checked(RmsNorm{"sbh", k.eps}, {x, w});
    compare_amax(RmsNorm{"sbh", k.eps}, {x, w}, y);
    g = run_checked(RmsNormGrad{"sbh", at}, {dy, x, w, rstd});
    both = run_checked(RmsNormGrad{"sbh", at, true}, {dy, x, w, rstd, beside});
  }
  compare_with_output(k, y, {dy, x, w}, c, beside);
  expect_near(y.back(), want.rstd, {t, roundings, big}, "rstd");
  expect_near(y[0], want.y, {t, roundings, big}, "y");
  expect_near(g[0], want.dx, {t, roundings, big}, "dx");
  expect_near(both[0], sum, {t, roundings, big}, "dx with what passes by");
  if (k.centred)
    compare_bias(LayerNormGrad{"sbh", at}, {dy, x, w, mean, rstd}, g);
  else
    compare_bias(RmsNormGrad{"sbh", at}, {dy, x, w, rstd}, g);
  EXPECT_EQ(both[1].x, g[1].x);
  expect_near(g[1], want.dw, {t, 16 + std::sqrt(double(k.rows)), big * std::sqrt(double(k.rows))}, "dw");
}

static void compare_rows_of(i64 h) {
  for (DType t : tested_dtypes())
    for (i64 rows : {1, 5, 33, 130})
      for (bool centred : {true, false}) compare({centred, rows, h}, t);
}

// Sizes that take minutes under racecheck are separate tests.
TEST(Norm, is_its_definition) {
  for (i64 h : {1, 7, 256}) compare_rows_of(h);
}
TEST(Norm, is_its_definition_of_long_rows) { compare_rows_of(4099); }

TEST(Norm, rows_of_models) {
  for (DType t : tested_dtypes())
    for (i64 h : {64, 96, 512, 768, 1032, 2048, 4096, 8200, 16384})
      for (bool centred : {true, false}) compare({centred, 3, h}, t);
}

// Sizes on both sides of the limits of GPU kernels: more than 512 elements a row, up to 8192, in pairs of rows up to
// 2048. Numbers of rows are odd and even, and below the number of blocks.
TEST(Norm, widths_and_pairs_of_rows) {
  for (bool centred : {true, false})
    for (i64 rows : {2, 7})
      for (i64 h : {512, 520, 768, 1600, 2048, 2056, 4096, 8192}) compare({centred, rows, h}, DType::bf16);
}

// So many rows that each group of threads passes the end of its ring of stages. Groups process different numbers of
// rows.
TEST(Norm, many_rows_of_520) {
  for (bool centred : {true, false}) compare({centred, 4402, 520}, DType::bf16);
}
TEST(Norm, many_rows_of_1600) { compare({true, 2002, 1600}, DType::bf16); }
TEST(Norm, many_rows_of_2056) { compare({false, 1403, 2056}, DType::bf16); }
TEST(Norm, many_rows_of_8192) { compare({true, 401, 8192}, DType::bf16); }

TEST(Norm, many_rows) {
  for (bool centred : {true, false}) {
    compare({centred, 5000, 24}, DType::f32);
    compare({centred, 30000, 16}, DType::bf16);
    compare({centred, 2501, 264}, DType::bf16);
    compare({centred, 1601, 1032}, DType::f32);
  }
}

TEST(Norm, variance_survives_a_large_mean) {
  const Array x = array(DType::f32, {1, 1, 512}, [](i64 i) { return 4096.0 + double(i % 2); });
  const Array w = array(DType::f32, {512}, [](i64) { return 1.0; }),
              c = array(DType::f32, {512}, [](i64) { return 0.0; });
  const auto y = run_checked(LayerNorm{"sbh", 0}, {x, w, c});
  EXPECT_EQ(y[1][0], 4096.5);
  EXPECT_EQ(y[2][0], 2.0);
}

TEST(Norm, weights_of_another_type_and_other_letters) {
  const Array x = normals(DType::bf16, {3, 2, 2, 2, 8}, 1), w = normals(DType::f32, {8}, 2),
              dy = normals(DType::bf16, x.type.shape, 3);
  const Plain want = plain({false, 24, 8}, dy, x, w, nullptr);
  const auto y = run_checked(RmsNorm{"sbgrd", 1e-5}, {x, w});
  expect_near(y[0], want.y, {DType::f32, 32, 4}, "y");
  const auto g = run_checked(RmsNormGrad{"sbgrd", DType::f32}, {dy, x, w, y[1]});
  expect_near(g[0], want.dx, {DType::f32, 32, 8}, "dx");
  expect_near(g[1], want.dw, {DType::f32, 32, 32}, "dw");
}

TEST(Norm, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  std::vector<Array> ins = {normals(DType::f64, {3, 2, 7}, 1), normals(DType::f64, {7}, 2),
                            normals(DType::f64, {7}, 3)};
  const Array dy = normals(DType::f64, {3, 2, 7}, 4);
  const auto layer = [&] { return run_quick(LayerNorm{}, ins); };
  const auto y = layer();
  const auto g = run_quick(LayerNormGrad{"sbh", DType::f64}, {dy, ins[0], ins[1], y[1], y[2]});
  for (int i : {0, 1, 2}) expect_gradient(ins, i, g[i], [&] { return dot(layer()[0].x, dy.x); });
  ins.pop_back();
  const auto rms = [&] { return run_quick(RmsNorm{}, ins); };
  const auto gr = run_quick(RmsNormGrad{"sbh", DType::f64}, {dy, ins[0], ins[1], rms()[1]});
  for (int i : {0, 1}) expect_gradient(ins, i, gr[i], [&] { return dot(rms()[0].x, dy.x); });
}

TEST(Norm, bits_do_not_depend_on_the_thread_count) {
  const Array x = normals(DType::f32, {700, 1, 70}, 1), w = normals(DType::f32, {70}, 2),
              dy = normals(DType::f32, {700, 1, 70}, 3);
  const Array rstd = array(DType::f32, {700, 1}, [](i64) { return 1.0; });
  const int threads = num_threads();
  std::vector<std::vector<double>> dw;
  for (int n : {1, 2, 5}) {
    omp_set_num_threads(n);
    dw.push_back(run_quick(RmsNormGrad{"sbh", DType::f32}, {dy, x, w, rstd})[1].x);
  }
  omp_set_num_threads(threads);
  EXPECT_EQ(dw[0], dw[1]);
  EXPECT_EQ(dw[0], dw[2]);
}

}  // namespace megalith::kernel_tests
