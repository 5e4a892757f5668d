#include <numeric>

#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

static std::vector<DType> router_dtypes() {
  return tested(DType::f64) ? std::vector{DType::f32, DType::f64} : std::vector{DType::f32};
}

// The k largest; of equal ones the lower index first.
static std::vector<i64> largest(const std::vector<double>& x, i64 k) {
  std::vector<i64> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](i64 i, i64 j) { return x[size_t(i)] > x[size_t(j)]; });
  order.resize(size_t(k));
  std::sort(order.begin(), order.end());
  return order;
}

static std::vector<double> plain_scores(RouterScore kind, const std::vector<double>& z) {
  std::vector<double> s;
  double sum = 0;
  for (double x : z) sum += std::exp(x);
  for (double x : z)
    s.push_back(kind == RouterScore::softmax   ? std::exp(x) / sum
                : kind == RouterScore::sigmoid ? 1 / (1 + std::exp(-x))
                                               : std::sqrt(std::log1p(std::exp(x))));
  return s;
}

struct Routed {
  std::vector<double> p, choice;
};

// ops/route.h for one token. `add`: added to the scores for the choice.
static Routed route_token(const RouteSpec& at, const std::vector<double>& z, const std::vector<double>& add) {
  const i64 e = i64(z.size());
  std::vector<double> s = plain_scores(at.score, z), by = s;
  if (at.score == RouterScore::softmax && !at.pre_softmax) by = z;
  for (i64 i = 0; i < e; ++i) by[size_t(i)] = at.by ? add[size_t(i)] : by[size_t(i)] + (at.bias ? add[size_t(i)] : 0);
  if (at.groups) {
    const i64 each = e / at.groups;
    std::vector<double> sums;
    for (i64 g = 0; g < at.groups; ++g) {
      std::vector<double> group(by.begin() + g * each, by.begin() + (g + 1) * each);
      std::sort(group.rbegin(), group.rend());
      sums.push_back(std::accumulate(group.begin(), group.begin() + at.group_best, 0.0));
    }
    std::vector<double> kept(by.size(), -INFINITY);
    for (i64 g : largest(sums, at.group_topk)) std::copy_n(by.begin() + g * each, each, kept.begin() + g * each);
    by = kept;
  }
  Routed out;
  double exps = 0, sum = 1e-20;
  for (i64 i : largest(by, at.topk)) {
    out.choice.push_back(double(i));
    exps += std::exp(z[size_t(i)]), sum += s[size_t(i)];
  }
  for (double i : out.choice) {
    double p = s[size_t(i)];
    if (at.score == RouterScore::softmax && !at.pre_softmax) p = std::exp(z[size_t(i)]) / exps;
    if (at.score != RouterScore::softmax && at.topk > 1) p /= sum;
    out.p.push_back(p * at.scaling);
  }
  return out;
}

static Routed route_all(const RouteSpec& at, const Array& z, const Array* add) {
  Routed out;
  const i64 e = z.dim(2);
  for (i64 t = 0; t < z.dim(0) * z.dim(1); ++t) {
    std::vector<double> of, bias(size_t(e), 0);
    for (i64 i = 0; i < e; ++i) {
      of.push_back(z[t * e + i]);
      if (add) bias[size_t(i)] = (*add)[at.by ? t * e + i : i];
    }
    const Routed one = route_token(at, of, bias);
    out.p.insert(out.p.end(), one.p.begin(), one.p.end());
    out.choice.insert(out.choice.end(), one.choice.begin(), one.choice.end());
  }
  return out;
}

// Every kind of score, with and without the other parts of a choice.
static std::vector<RouteSpec> route_specs(i64 e, i64 k) {
  std::vector<RouteSpec> out;
  for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid, RouterScore::sqrtsoftplus})
    for (const bool more : {false, true}) {
      RouteSpec at{.score = score, .pre_softmax = more, .topk = k, .scaling = more ? 2.5 : 1};
      out.push_back(at);
      at.bias = more, at.by = !more;
      if (e % 4 == 0 && k <= e / 2) at.groups = 4, at.group_topk = 2, at.group_best = std::min<i64>(2, e / 4);
      out.push_back(at);
    }
  return out;
}

static std::vector<Array> route_ins(DType t, const RouteSpec& at, i64 e) {
  std::vector<Array> ins = {normals(t, {5, 3, e}, 1, 2)};
  if (at.bias) ins.push_back(normals(DType::f32, {e}, 2, 0.3));
  if (at.by) ins.push_back(normals(t, {5, 3, e}, 3));
  return ins;
}

constexpr std::pair<i64, i64> kRouted[] = {{1, 1}, {4, 1}, {8, 2}, {8, 8}, {60, 4}, {128, 8}, {257, 6}, {1024, 64}};

TEST(Route, is_its_definition) {
  for (DType t : router_dtypes())
    for (auto [e, k] : kRouted)
      for (const RouteSpec& at : route_specs(e, k)) {
        SCOPED_TRACE(fmt::format("{} of {} {}", AnyOp(Route{at}).print(), e, name_of(t)));
        const std::vector<Array> ins = route_ins(t, at, e);
        const auto got = run_checked(Route{at}, ins);
        const Routed want = route_all(at, ins[0], ins.size() > 1 ? &ins[1] : nullptr);
        ASSERT_EQ(got[1].x, want.choice);
        expect_near(got[0], want.p, {t, 64, 0}, "p");
      }
}

TEST(Route, of_equal_experts_the_lower_comes_first) {
  for (i64 e : {8, 64, 1000})
    for (const RouteSpec& at : route_specs(e, 4)) {
      std::vector<Array> ins = route_ins(DType::f32, at, e);
      for (Array& in : ins)
        for (size_t i = 0; i < in.x.size(); ++i) in.x[i] = double(i * 5 / 4 % 3);
      const Routed want = route_all(at, ins[0], ins.size() > 1 ? &ins[1] : nullptr);
      EXPECT_EQ(run_checked(Route{at}, ins)[1].x, want.choice) << AnyOp(Route{at}).print() << " of " << e;
    }
}

TEST(Route, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  for (auto [e, k] : kRouted)
    for (const RouteSpec& at : route_specs(e, k)) {
      if (e > 200) continue;
      std::vector<Array> ins = route_ins(DType::f64, at, e);
      const Array dp = normals(DType::f64, {5, 3, k}, 5), choice = run_quick(Route{at}, ins)[1];
      const Array dz = run_checked(RouteGrad{at}, {dp, ins[0], choice})[0];
      expect_gradient(ins, 0, dz, [&] { return dot(run_quick(Route{at}, ins)[0].x, dp.x); });
    }
}

TEST(Route, gradient_in_f32_is_that_in_f64) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  for (auto [e, k] : kRouted)
    for (const RouteSpec& at : route_specs(e, k)) {
      const std::vector<Array> ins = route_ins(DType::f32, at, e);
      const Array dp = normals(DType::f32, {5, 3, k}, 5), choice = run_quick(Route{at}, ins)[1];
      const auto wide = [](Array a) { return a.type.dtype = DType::f64, a; };
      const Array want = run_quick(RouteGrad{at}, {wide(dp), wide(ins[0]), choice})[0];
      expect_near(run_checked(RouteGrad{at}, {dp, ins[0], choice})[0], want.x, {DType::f32, 64, 3}, "dz");
    }
}

TEST(Route, hostile_logits_choose_experts_that_exist) {
  for (const RouteSpec& at : route_specs(16, 4)) {
    std::vector<Array> ins = route_ins(DType::f32, at, 16);
    const double odd[] = {NAN, INFINITY, -INFINITY, 3e38, -3e38, 0, -200, 200};
    for (size_t i = 0; i < ins[0].x.size(); ++i) ins[0].x[i] = odd[(i + i / 16) % (i / 16 % 8 + 1)];
    const Array choice = run_checked(Route{at}, ins)[1];
    for (size_t i = 0; i < choice.x.size(); ++i) {
      ASSERT_TRUE(choice.x[i] >= 0 && choice.x[i] < 16) << i;
      const double before = i % 4 ? choice.x[i - 1] : -1;
      ASSERT_GT(choice.x[i], before) << i;
    }
  }
}

TEST(Route, refuses_choices_that_do_not_fit) {
  RouteSpec at{.topk = 9};
  EXPECT_THROW(at.check_experts(8), Error);
  at = {.topk = 4, .groups = 3, .group_topk = 1, .group_best = 1};
  EXPECT_THROW(at.check_experts(8), Error);
  at.groups = 4;
  EXPECT_THROW(at.check_experts(8), Error);
  at.group_topk = 2;
  EXPECT_NO_THROW(at.check_experts(8));
}

}  // namespace megalith::kernel_tests
