#include "tests/kernels/attention_case.h"

#include "ops/relative_positions.h"
#include "tests/kernels/alibi.h"

namespace megalith::kernel_tests {

Case make_case(DType t, const Sizes& n, AttentionSpec at) {
  at.scale = 1.3 / std::sqrt(double(n.d));
  Case c{at, n, t, normals(t, {n.s, n.b, n.g, n.r, n.d}, 1), normals(t, {n.keys(), n.b, n.g, n.d}, 2),
         normals(t, {n.keys(), n.b, n.g, n.values()}, 3),
         array(DType::i64, {n.b}, [](i64 i) { return double(i * 1009 + 5); }),
         // Documents of 7, 8, 9.. positions, with other ends in each sample.
         array(DType::i32, {n.s, n.b},
               [&](i64 i) { return std::max<double>(0, double(i / n.b - (i / n.b + i % n.b) % (7 + i % n.b))); }),
         // The first sequence has its full length, the next has no key, the others end somewhere.
         array(DType::i32, {n.b}, [&](i64 i) { return double(i == 0 ? n.keys() : (i - 1) * n.keys() * 2 / 3); }),
         normals(t, {n.s, n.b, n.g, n.r, n.values()}, 4), normals(t, {n.g, n.r, at.buckets}, 5)};
  return c;
}

// The pragma tells the compiler that iterations are independent, because tests are compiled with little optimization.
static double product(const double* a, const double* b, i64 n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (i64 e = 0; e < n; ++e) sum += a[e] * b[e];
  return sum;
}
static void add_times(double* y, double factor, const double* x, i64 n) {
#pragma omp simd
  for (i64 e = 0; e < n; ++e) y[e] += factor * x[e];
}

Plain plain(const Case& c) {
  const auto [s, b, g, r, d, _, __] = c.n;
  const i64 t = c.n.keys(), of_v = c.n.values();
  const std::vector<double> slopes = alibi_slopes(g * r);
  Plain out;
  out.o.assign(c.dout.x.size(), 0), out.lse.assign(size_t(s * b * g * r), 0), out.dq.assign(c.q.x.size(), 0);
  out.dk.assign(c.k.x.size(), 0), out.dv.assign(c.v.x.size(), 0), out.dtable.assign(c.table.x.size(), 0);
  const auto in_table = [&](i64 head, i64 delta) {
    return head * c.at.buckets + relative_bucket(delta, !c.at.causal, c.at.buckets, c.at.max_distance);
  };
  const auto key_row = [&](i64 j, i64 bi, i64 gi) { return ((j * b + bi) * g + gi) * d; };
  const auto value_row = [&](i64 j, i64 bi, i64 gi) { return ((j * b + bi) * g + gi) * of_v; };
  for (i64 i = 0; i < s; ++i)
    for (i64 head = 0; head < b * g * r; ++head) {
      const i64 bi = head / (g * r), gi = head / r % g, ri = head % r, row = i * b * g * r + head;
      i64 lo = c.at.window > 0 ? std::max<i64>(0, i - c.at.window + 1) : 0;
      if (c.at.starts) lo = std::max(lo, i64(c.starts[i * b + bi]));
      const i64 hi = std::min(c.at.causal ? i + 1 : t, c.at.lengths ? i64(c.lengths[bi]) : t);
      std::vector<double> p(size_t(t), 0), keep(size_t(t), 1), dp(size_t(t), 0);
      double sum = 0, mean = 0;
      for (i64 j = lo; j < hi; ++j) {
        double x = c.at.alibi ? alibi_bias(c.at, slopes[gi * r + ri], j, i) : 0;
        if (c.at.buckets) x += c.table[in_table(gi * r + ri, j - i)];
        x += c.at.scale * product(&c.q.x[size_t(row * d)], &c.k.x[size_t(key_row(j, bi, gi))], d);
        sum += p[j] = std::exp(x);
        const u64 h = mix_all(c.at.seed, i64(c.rows[bi]), gi, ri, i, j);
        if (c.at.dropout > 0) keep[j] = unit(h) >= c.at.dropout ? 1 / (1 - c.at.dropout) : 0;
      }
      out.lse[row] = std::log(sum);
      for (i64 j = lo; j < hi; ++j) {
        p[j] /= sum;
        const i64 vr = value_row(j, bi, gi);
        const double *v = &c.v.x[size_t(vr)], *dout = &c.dout.x[size_t(row * of_v)];
        add_times(&out.o[size_t(row * of_v)], p[j] * keep[j], v, of_v);
        add_times(&out.dv[size_t(vr)], p[j] * keep[j], dout, of_v);
        dp[j] = keep[j] * product(dout, v, of_v);
        mean += p[j] * dp[j];
      }
      for (i64 j = lo; c.at.buckets && j < hi; ++j) out.dtable[in_table(gi * r + ri, j - i)] += p[j] * (dp[j] - mean);
      for (i64 j = lo; j < hi; ++j) {
        const size_t kr = size_t(key_row(j, bi, gi)), qr = size_t(row * d);
        const double ds = c.at.scale * p[j] * (dp[j] - mean);
        add_times(&out.dq[qr], ds, &c.k.x[kr], d);
        add_times(&out.dk[kr], ds, &c.q.x[qr], d);
      }
    }
  return out;
}

Tolerances tolerances(const Case& c) {
  // Scores of size 5 have rounding errors of 5 * 2^-24, and more by sums over d. Results are means of numbers of size
  // 4.
  const double roundings = 32 + std::sqrt(double(c.n.d)) * 4;
  // Probabilities are rounded too. In results they weight values of size 4; in gradients they weight sums of several
  // means.
  const double from_p = probability_error(c.dtype) / arithmetic_error(c.dtype);
  // The gradient gets the exact o and lse, rounded to their types. The rounding of o enters through D = sum do * o,
  // with d terms.
  const bool narrow = size_of(c.dtype) == 2;
  const double from_o = narrow ? storage_error(c.dtype) / arithmetic_error(c.dtype) : 0;
  return {{c.dtype, roundings + 2 * from_p, 2},
          {c.dtype, roundings, 2},
          {c.dtype, 4 * (roundings + from_p) + from_o * std::sqrt(double(c.n.d)), 4 + std::sqrt(double(c.n.r))}};
}

std::string print(const Case& c) {
  return fmt::format("{} {} s {} b {} g {} r {} d {}", name_of(c.dtype), AnyOp(Attention{c.at}).print(), c.n.s, c.n.b,
                     c.n.g, c.n.r, c.n.d) +
         (c.n.v ? fmt::format(" v {}", c.n.v) : "");
}

void compare(const Case& c) {
  SCOPED_TRACE(print(c));
  const Plain want = plain(c);
  const Tolerances tol = tolerances(c);
  auto y = run_checked(Attention{c.at}, c.forward_ins());
  expect_near(y[0], want.o, tol.o, "o");
  std::vector<double> finite = want.lse;
  for (size_t i = 0; i < finite.size(); ++i)
    if (std::isinf(finite[i])) {
      EXPECT_EQ(y[1].x[i], finite[i]) << "of a query without keys";
      y[1].x[i] = finite[i] = 0;
    }
  expect_near(y[1], finite, tol.lse, "lse");
  const Array o = array(c.dtype, c.dout.type.shape, [&](i64 i) { return want.o[i]; });
  const Array lse = array(accum_of(c.dtype), y[1].type.shape, [&](i64 i) { return want.lse[i]; });
  const auto g = run_checked(AttentionGrad{c.at}, c.backward_ins(o, lse));
  expect_near(g[0], want.dq, tol.gradient, "dq");
  expect_near(g[1], want.dk, tol.gradient, "dk");
  expect_near(g[2], want.dv, tol.gradient, "dv");
}

}  // namespace megalith::kernel_tests
