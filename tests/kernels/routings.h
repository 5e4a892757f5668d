// Random routings of tokens to experts, and the tensors of a layer. A plain loop over experts computes the expected
// results; the ops of experts' rows compute the others.
#pragma once
#include <numeric>

#include "ops/expert_activation.h"
#include "ops/gather_rows.h"
#include "ops/grouped_product.h"
#include "tests/kernels/dispatch.h"

namespace megalith::kernel_tests {

using Numbers = std::vector<double>;
constexpr int kRoutings = 1000;
constexpr i64 kHidden = 5, kInner = 3;

// Experts of a token: random; the same for all tokens; all experts; only the first half; random with dropped ones.
enum Choice { kAny, kSame, kAll, kFirstHalf, kDropped, kChoices };

inline Case random_case(u64 seed) {
  auto random = [&, at = u64(0)](i64 n) mutable { return i64(mix_all(seed, 77, at++) % u64(n)); };
  const auto choice = Choice(random(kChoices));
  Case c{.name = "random", .s = 1 + random(5), .b = 1 + random(3), .k = 1, .experts = 1 + random(9)};
  c.k = choice == kAll ? c.experts : 1 + random(std::min<i64>(c.experts, 4));
  const std::vector<int> sizes = {1, 2, 3};
  do c.ep = sizes[size_t(random(3))];
  while (c.experts % c.ep != 0);
  const i64 among = choice == kFirstHalf ? std::max(c.k, c.experts / 2) : c.experts;
  for (i64 t = 0; t < c.s * c.b; ++t)
    for (const i64 e : some_experts(choice == kSame ? i64(seed) : t + 100 * i64(seed), c.k, among))
      c.given.push_back(choice == kDropped && random(3) == 0 ? -1 : e);
  return c;
}

// The tensors of a layer: x and dy [t,h], p [t,k], w1 [e,2,f,h], w2 [e,h,f].
struct Numbered {
  Numbers x, dy, p, w1, w2;
};

inline Numbers random_numbers(DType dtype, i64 n, u64 seed) { return normals(dtype, {n}, seed).x; }

inline DType layer_dtype() { return tested(DType::f64) ? DType::f64 : DType::f32; }

inline Numbered layer_of(const Case& c, u64 seed) {
  const DType dtype = layer_dtype();
  const i64 tokens = c.s * c.b;
  return {random_numbers(dtype, tokens * kHidden, seed), random_numbers(dtype, tokens * kHidden, seed + 1),
          random_numbers(dtype, tokens * c.k, seed + 2),
          random_numbers(dtype, c.experts * 2 * kInner * kHidden, seed + 3),
          random_numbers(dtype, c.experts * kHidden * kInner, seed + 4)};
}

struct Results {
  Numbers y, dx, dp, dw1, dw2;
  bool operator==(const Results&) const = default;
};

inline Results zeros_like(const Numbered& l) {
  return {Numbers(l.x.size()), Numbers(l.x.size()), Numbers(l.p.size()), Numbers(l.w1.size()), Numbers(l.w2.size())};
}

// One token at one of its experts.
inline void add_token(const Case& c, const Numbered& l, i64 t, i64 slot, Results& out) {
  const i64 e = c.given[size_t(t * c.k + slot)];
  const double *x = &l.x[size_t(t * kHidden)], *dy = &l.dy[size_t(t * kHidden)];
  const double *w1 = &l.w1[size_t(e * 2 * kInner * kHidden)], *w2 = &l.w2[size_t(e * kHidden * kInner)];
  const double p = l.p[size_t(t * c.k + slot)];
  for (i64 f = 0; f < kInner; ++f) {
    const double* rows[] = {w1 + f * kHidden, w1 + (kInner + f) * kHidden};
    const double gate = std::inner_product(x, x + kHidden, rows[0], 0.0);
    const double up = std::inner_product(x, x + kHidden, rows[1], 0.0), s = 1 / (1 + std::exp(-gate));
    const double act = gate * s * up;
    double da = 0;
    for (i64 h = 0; h < kHidden; ++h) da += dy[h] * w2[h * kInner + f];
    const double du[] = {p * da * up * s * (1 + gate * (1 - s)), p * da * gate * s};
    out.dp[size_t(t * c.k + slot)] += da * act;
    for (i64 h = 0; h < kHidden; ++h) {
      out.y[size_t(t * kHidden + h)] += w2[h * kInner + f] * p * act;
      out.dw2[size_t((e * kHidden + h) * kInner + f)] += dy[h] * p * act;
      for (i64 m = 0; m < 2; ++m) {
        out.dx[size_t(t * kHidden + h)] += du[m] * rows[m][h];
        out.dw1[size_t(((e * 2 + m) * kInner + f) * kHidden + h)] += du[m] * x[h];
      }
    }
  }
}

inline Results by_loop(const Case& c, const Numbered& l) {
  Results out = zeros_like(l);
  for (i64 e = 0; e < c.experts; ++e)
    for (i64 i = 0; i < i64(c.given.size()); ++i)
      if (c.given[size_t(i)] == e) add_token(c, l, i / c.k, i % c.k, out);
  return out;
}

// One rank's part, computed by the ops. `behind` fills the rows after the count in all inputs.
class RankOfLayer {
 public:
  RankOfLayer(const Case& c, const Numbered& l, int rank, double behind) : d_(at(c, rank)), l_(l), behind_(behind) {}

  void add_to(Results& out) const {
    const DType dtype = layer_dtype();
    const Array x = tokens(l_.x, kHidden), dy = tokens(l_.dy, kHidden), p = tokens(l_.p, d_.c.k);
    const Array w1 = weight(l_.w1, {2, kInner, kHidden}), w2 = weight(l_.w2, {kHidden, kInner});
    const ExpertAct act{.gated = true, .gate = Gate::silu};
    const Array rows = run(GatherRows{}, d_.with_plan(x)), w = run(GatherWeights{}, d_.with_plan(p));
    const Array u = run(GroupedProduct{"nh,emfh->nmf", dtype}, {rows, w1, d_.ends});
    const Array a = run(ExpertActivation{act}, {u, w, d_.ends});
    const Array o = run(GroupedProduct{"nf,ehf->nh", dtype}, {a, w2, d_.ends});
    const Array d_o = run(GatherRows{}, d_.with_plan(dy));
    const Array da = run(GroupedProduct{"nh,ehf->nf", dtype}, {d_o, w2, d_.ends});
    std::vector<Array> du = run_quick(ExpertActivationGrad{act}, {da, u, w, d_.ends}, d_.place);
    for (Array& rows_of : du) cover(rows_of);
    const Array dx = run(GroupedProduct{"nmf,emfh->nh", dtype}, {du[0], w1, d_.ends});
    add(run_whole(CombineRows{}, d_.with_plan(o)), 0, out.y);
    add(run_whole(CombineRows{}, d_.with_plan(dx)), 0, out.dx);
    add(run_whole(GatherWeightsGrad{}, d_.with_plan(du[1])), 0, out.dp);
    const i64 first = i64(d_.ends.x.size()) * d_.c.rank;
    add(run_whole(GroupedProduct{"nmf,nh->emfh", dtype}, {du[0], rows, d_.ends}), first * 2 * kInner * kHidden,
        out.dw1);
    add(run_whole(GroupedProduct{"nh,nf->ehf", dtype}, {d_o, a, d_.ends}), first * kHidden * kInner, out.dw2);
  }

 private:
  static Case at(Case c, int rank) {
    c.rank = rank;
    return c;
  }
  static void add(const Array& part, i64 first, Numbers& sum) {
    for (size_t i = 0; i < part.x.size(); ++i) sum[size_t(first) + i] += part.x[i];
  }

  Array tokens(const Numbers& x, i64 width) const {
    Array a{{layer_dtype(), {d_.c.s, d_.c.b, width}, whole(3)}, x};
    a.type.layout.copy = groups::expert;
    return a;
  }
  Array weight(const Numbers& w, Shape rest) const {
    const i64 mine = i64(d_.ends.x.size()), each = count(rest);
    rest.insert(rest.begin(), d_.c.experts);
    Array a{{layer_dtype(), rest, whole(rest.size())}, {}};
    a.type.layout.dims[0].add({groups::expert});
    a.x.assign(w.begin() + mine * d_.c.rank * each, w.begin() + mine * (d_.c.rank + 1) * each);
    return a;
  }
  void cover(Array& rows) const {
    const i64 width = i64(rows.x.size()) / d_.bound();
    std::fill(rows.x.begin() + d_.rows * width, rows.x.end(), behind_);
  }
  template <class T>
  Array run_whole(const T& op, const std::vector<Array>& ins) const {
    return run_quick(op, ins, d_.place)[0];
  }
  template <class T>
  Array run(const T& op, const std::vector<Array>& ins) const {
    Array rows = run_whole(op, ins);
    cover(rows);
    return rows;
  }

  const Dispatch d_;
  const Numbered& l_;
  const double behind_;
};

constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();

inline Results by_ops(const Case& c, const Numbered& l, double behind = kPoison) {
  Results out = zeros_like(l);
  for (int rank = 0; rank < c.ep; ++rank) RankOfLayer(c, l, rank, behind).add_to(out);
  return out;
}

// Sums of at most 2 f or h terms of products of four normal numbers, added one after another.
inline void expect_close(const Numbers& got, const Numbers& want, const char* what) {
  double most = 10;
  for (const double x : want) most = std::max(most, std::abs(x));
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_LE(std::abs(got[i] - want[i]), 64 * arithmetic_error(layer_dtype()) * most) << what << " [" << i << "]";
}

inline void expect_close(const Results& got, const Results& want) {
  expect_close(got.y, want.y, "y"), expect_close(got.dx, want.dx, "dx"), expect_close(got.dp, want.dp, "dp");
  expect_close(got.dw1, want.dw1, "dw1"), expect_close(got.dw2, want.dw2, "dw2");
}

}  // namespace megalith::kernel_tests
