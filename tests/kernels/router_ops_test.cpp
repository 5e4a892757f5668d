#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

static std::vector<DType> scored_dtypes() {
  return tested(DType::f64) ? std::vector{DType::f32, DType::f64} : std::vector{DType::f32};
}
constexpr RouterScore kAllScores[] = {RouterScore::softmax, RouterScore::sigmoid, RouterScore::sqrtsoftplus};

// ops/router_scores.h for one token.
static std::vector<double> shares_of(RouterScore kind, const double* z, i64 n) {
  std::vector<double> q;
  double sum = 0;
  for (i64 i = 0; i < n; ++i) {
    q.push_back(kind == RouterScore::softmax   ? std::exp(z[i])
                : kind == RouterScore::sigmoid ? 1 / (1 + std::exp(-z[i]))
                                               : std::sqrt(std::log1p(std::exp(z[i]))));
    sum += q.back();
  }
  for (double& x : q) x /= sum;
  return q;
}

TEST(RouterScores, are_their_definition) {
  for (DType t : scored_dtypes())
    for (i64 e : {1, 8, 60, 257})
      for (const RouterScore kind : kAllScores) {
        const Array z = normals(t, {5, 3, e}, 1, 3);
        std::vector<double> q, l;
        for (i64 token = 0; token < 15; ++token) {
          const double* x = z.x.data() + token * e;
          const std::vector<double> one = shares_of(kind, x, e);
          q.insert(q.end(), one.begin(), one.end());
          double sum = 0;
          for (i64 i = 0; i < e; ++i) sum += std::exp(x[i]);
          l.push_back(std::log(sum));
        }
        expect_near(run_checked(RouterScores{kind}, {z})[0], q, {t, 64, 0}, "q");
        if (kind == RouterScore::softmax) expect_near(run_checked(LogSumExp{}, {z})[0], l, {t, 32}, "log of the sum");
      }
}

TEST(RouterScores, gradients_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  for (const RouterScore kind : kAllScores) {
    std::vector<Array> ins = {normals(DType::f64, {3, 2, 9}, 1, 2)};
    const Array dq = normals(DType::f64, {3, 2, 9}, 2), dl = normals(DType::f64, {3, 2}, 3);
    expect_gradient(ins, 0, run_checked(RouterScoresGrad{kind}, {dq, ins[0]})[0],
                    [&] { return dot(run_quick(RouterScores{kind}, ins)[0].x, dq.x); });
    expect_gradient(ins, 0, run_checked(LogSumExpGrad{}, {dl, ins[0]})[0],
                    [&] { return dot(run_quick(LogSumExp{}, ins)[0].x, dl.x); });
  }
}

// In f32 it equals the definition of the gradient, dz = s' (dq - sum dq q) / sum s.
TEST(RouterScores, gradients_are_their_definition) {
  for (DType t : scored_dtypes())
    for (i64 e : {1, 33, 300})
      for (const RouterScore kind : kAllScores) {
        const Array z = normals(t, {4, 2, e}, 1, 2), dq = normals(t, {4, 2, e}, 2);
        std::vector<double> dz;
        for (i64 token = 0; token < 8; ++token) {
          const double* x = z.x.data() + token * e;
          const std::vector<double> q = shares_of(kind, x, e);
          double along = 0, sum = 0;
          for (i64 i = 0; i < e; ++i) along += dq[token * e + i] * q[size_t(i)];
          for (i64 i = 0; i < e; ++i)
            sum += kind == RouterScore::sigmoid ? 1 / (1 + std::exp(-x[i])) : std::sqrt(std::log1p(std::exp(x[i])));
          for (i64 i = 0; i < e; ++i) {
            const double s = 1 / (1 + std::exp(-x[i]));
            const double slope =
                kind == RouterScore::sigmoid ? s * (1 - s) : s / 2 / std::sqrt(std::log1p(std::exp(x[i])));
            const double share = kind == RouterScore::softmax ? q[size_t(i)] : slope / sum;
            dz.push_back(share * (dq[token * e + i] - along));
          }
        }
        expect_near(run_checked(RouterScoresGrad{kind}, {dq, z})[0], dz, {t, 128, 1}, "dz");
      }
}

static Array choices(i64 tokens, i64 k, i64 experts, u64 seed) {  // ascending, [tokens/3, 3, k]
  return array(DType::i32, {tokens / 3, 3, k}, [&](i64 i) {
    const i64 step = experts / k, slot = i % k;
    return double(slot * step + i64(mix_all(seed, i) % u64(step)));
  });
}

TEST(ExpertMap, is_its_definition) {
  for (i64 e : {4, 40, 300}) {
    Array choice = choices(15, 4, e, 1);
    choice[5] = -1;
    std::vector<double> m(size_t(15 * e), 0);
    for (i64 i = 0; i < 60; ++i)
      if (choice[i] >= 0) m[size_t(i / 4 * e + i64(choice[i]))] = 1;
    EXPECT_EQ(run_checked(ExpertMap{e}, {choice})[0].x, m);
    choice[7] = double(e), choice[9] = 2147483647;  // experts that do not exist
    run_checked(ExpertMap{e}, {choice});
  }
}

// The tokens that experts keep, by the definition in ops/expert_capacity.h.
static std::vector<Array> kept_of(const ExpertCapacity& op, const Array& p, const Array& choice) {
  Array to_p = p, to = choice;
  const i64 k = p.dim(2), tokens = p.dim(0) * p.dim(1);
  const double room = std::ceil(double(tokens * k) / double(op.experts) * op.factor);
  for (i64 e = 0; e < op.experts; ++e) {
    std::vector<i64> list;
    for (i64 i = 0; i < tokens * k; ++i)
      if (choice[i] == double(e)) list.push_back(i);
    if (op.by == DropBy::weight) std::stable_sort(list.begin(), list.end(), [&](i64 i, i64 j) { return p[i] > p[j]; });
    for (size_t i = 0; i < list.size(); ++i)
      if (double(i) >= room) to_p[list[i]] = 0, to[list[i]] = -1;
  }
  return {to_p, to};
}

TEST(ExpertCapacity, is_its_definition) {
  for (const DropBy by : {DropBy::weight, DropBy::position})
    for (double factor : {0.1, 0.5, 0.9, 1.0, 8.0})
      for (auto [tokens, e] : {std::pair<i64, i64>{3, 4}, {63, 8}, {1500, 16}}) {
        const ExpertCapacity op{e, factor, by};
        const Array choice = choices(tokens, 4, e, 2);
        const Array p = array(DType::f32, choice.type.shape, [&](i64 i) { return double(mix_all(3, i) % 64) / 64; });
        const auto got = run_checked(op, {p, choice}), want = kept_of(op, p, choice);
        EXPECT_EQ(got[0].x, want[0].x) << tokens << " tokens, " << e << " experts, " << factor;
        EXPECT_EQ(got[1].x, want[1].x) << tokens << " tokens, " << e << " experts, " << factor;
        const Array dp = normals(DType::f32, choice.type.shape, 4);
        std::vector<double> d = dp.x;
        for (size_t i = 0; i < d.size(); ++i)
          if (got[1].x[i] < 0) d[i] = 0;
        EXPECT_EQ(run_checked(ExpertCapacityGrad{}, {dp, got[1]})[0].x, d);
      }
}

TEST(Sinkhorn, is_its_definition) {
  for (DType t : scored_dtypes())
    for (auto [s, e] : {std::pair<i64, i64>{1, 1}, {4, 8}, {300, 6}, {50, 70}}) {
      const Array z = normals(t, {s, 3, e}, 1);
      const i64 tokens = 3 * s;
      std::vector<double> c, d0(size_t(tokens), 0), d1(size_t(e), 1), y;
      for (double x : z.x) c.push_back(std::exp(x));
      for (double change = 1; change > 1e-4;) {
        for (i64 i = 0; i < tokens; ++i) {
          double sum = 0;
          for (i64 j = 0; j < e; ++j) sum += d1[size_t(j)] * c[size_t(i * e + j)];
          d0[size_t(i)] = 1 / double(tokens) / (sum + 1e-8);
        }
        change = 0;
        for (i64 j = 0; j < e; ++j) {
          double sum = 0;
          for (i64 i = 0; i < tokens; ++i) sum += d0[size_t(i)] * c[size_t(i * e + j)];
          const double now = 1 / double(e) / (sum + 1e-8);
          change += std::abs(now - d1[size_t(j)]) / double(e), d1[size_t(j)] = now;
        }
      }
      for (i64 i = 0; i < tokens * e; ++i) y.push_back(d1[size_t(i % e)] * c[size_t(i)] * d0[size_t(i / e)]);
      const Array got = run_checked(Sinkhorn{}, {z})[0];
      ASSERT_EQ(got.x.size(), y.size());
      // There may be one round more or less, because the last one changes little.
      for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(got.x[i], y[i], 1e-3 * y[i]) << i;
    }
}

TEST(RouterNoise, is_its_definition) {
  const Array rows = array(DType::i64, {3}, [](i64 i) { return double(1000003 * i + 17); });
  for (DType t : tested_dtypes()) {
    const Array x = normals(t, {5, 3, 40}, 1);
    std::vector<double> y;
    const auto u = [&](i64 i) { return unit(mix_all(42, i64(rows[i / 40 % 3]), i / 120, i % 40)); };
    for (i64 i = 0; i < 600; ++i) y.push_back(x[i] * (0.9 + 0.2 * u(i)));
    expect_near(run_checked(Jitter{0.1, 42}, {x, rows})[0], y, {t, 8, 0}, "jitter");
  }
  for (DType t : scored_dtypes()) {
    const Array z = normals(t, {5, 3, 8}, 1);
    std::vector<double> fake, biased;
    for (i64 i = 0; i < 120; ++i) {
      fake.push_back(2 * unit(mix_all(42, i64(rows[i / 8 % 3]), i / 24, i % 8)) - 1);
      biased.push_back(z[i] + 0.5 * normal(mix_all(42, i % 8)));
    }
    expect_near(run_checked(FakeLogits{0, 42}, {z, rows})[0], fake, {t, 4}, "fake");
    expect_near(run_checked(FakeLogits{0.5, 42}, {z, rows})[0], biased, {t, 4}, "biased");
  }
}

TEST(RouterNoise, ranks_draw_what_one_rank_draws) {
  const Array x = normals(DType::f32, {8, 4, 6}, 1), rows = array(DType::i64, {4}, [](i64 i) { return double(i + 9); });
  const Array y = run_quick(Jitter{0.3, 5}, {x, rows})[0], z = run_quick(FakeLogits{0, 5}, {x, rows})[0];
  const Mesh mesh = make_mesh({2, 2, 1, 1});
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const Place at{mesh, mesh.coord(rank)};
    Layout split = whole(3), split_rows = whole(1);
    split.dims = {{{groups::context, Order::zigzag}}, {{groups::data}}, {}};
    split_rows.dims = {{{groups::data}}};
    const std::vector<Array> mine = {slice(x, split, at), slice(rows, split_rows, at)};
    EXPECT_EQ(run_checked(Jitter{0.3, 5}, mine, at)[0].x, slice(y, split, at).x);
    EXPECT_EQ(run_checked(FakeLogits{0, 5}, mine, at)[0].x, slice(z, split, at).x);
  }
}

TEST(ExpertCounts, shares_and_biases) {
  for (i64 e : {1, 8, 300}) {
    Array n = array(DType::f32, {e}, [](i64 i) { return double(1000 + mix_all(7, i) % 1000); });
    double sum = 0;
    for (double x : n.x) sum += x;
    if (e > 1) n[1] += double(e) - std::fmod(sum, double(e)), sum += double(e) - std::fmod(sum, double(e));
    if (e > 2) n[2] -= sum / double(e) - n[0], n[0] = sum / double(e);  // exactly the mean
    const Array bias = normals(DType::f32, {e}, 1);
    std::vector<double> shares, moved;
    for (i64 i = 0; i < e; ++i) {
      const double above = n[i] * double(e) - sum;
      shares.push_back(n[i] / sum), moved.push_back(bias[i] - 1e-3 * (above > 0 ? 1 : above < 0 ? -1 : 0));
    }
    expect_near(run_checked(CountShares{}, {n})[0], shares, {DType::f32, 1, 0}, "shares");
    for (double counts : {0.0, 1.0}) {
      const Array scalars = array(DType::f64, {4}, [&](i64 i) { return i == step_scalar::kCounts ? counts : 0.5; });
      const Array got = run_checked(BalanceBias{1e-3}, {bias, n, scalars})[0];
      expect_near(got, counts != 0 ? moved : bias.x, {DType::f32, 1, 1}, "bias");
    }
  }
  const Array none = array(DType::f32, {3}, [](i64) { return 0.0; });
  EXPECT_EQ(run_checked(CountShares{}, {none})[0].x, none.x);
}

}  // namespace megalith::kernel_tests
