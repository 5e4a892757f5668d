// Kernels of Route and RouteGrad, token by token.
#include "base/threads.h"
#include "exec/cpu/kernels/router_row.h"

namespace megalith::cpu {
namespace {

// A thread's memory for one token.
template <class A>
struct RouteRow {
  const RouteSpec& at;
  i64 experts;
  std::vector<A> score, by, sums;  // by: scores that decide the choice
  std::vector<u8> all, may, chosen, group;

  RouteRow(const RouteSpec& spec, i64 e)
      : at(spec),
        experts(e),
        score(size_t(e)),
        by(size_t(e)),
        sums(size_t(e)),
        all(size_t(e), 1),
        may(size_t(e), 1),
        chosen(size_t(e)),
        group(size_t(e)) {}

  // The sum of a group's `group_best` largest scores, from the largest down.
  A group_score(i64 first, i64 each) {
    A sum = 0;
    std::fill(chosen.begin(), chosen.end(), u8(0));
    for (i64 i = 0; i < at.group_best; ++i)
      sum += by[size_t(first + choose_largest(&by[size_t(first)], &all[size_t(first)], each, &chosen[size_t(first)]))];
    return sum;
  }

  void allow_groups() {
    const i64 each = experts / at.groups;
    for (i64 g = 0; g < at.groups; ++g) sums[size_t(g)] = group_score(g * each, each);
    choose_largest(sums.data(), all.data(), at.groups, at.group_topk, group.data());
    for (i64 i = 0; i < experts; ++i) may[size_t(i)] = group[size_t(i / each)];
  }

  void choose(i32* choice) {
    if (at.groups) allow_groups();
    choose_largest(by.data(), may.data(), experts, at.topk, chosen.data());
    for (i64 i = 0, j = 0; i < experts; ++i)
      if (chosen[size_t(i)]) choice[j++] = i32(i);
  }

  // Before scaling, p is the softmax of the chosen logits if over_chosen(). It is the scores' fraction of their sum if
  // over_sum(). Otherwise it is the scores.
  bool over_chosen() const { return at.score == RouterScore::softmax && !at.pre_softmax; }
  bool over_sum() const { return at.score != RouterScore::softmax && at.topk > 1; }

  void weigh(const A* z, const i32* choice, A* p) {
    const i64 k = at.topk;
    for (i64 j = 0; j < k; ++j) p[j] = over_chosen() ? z[choice[j]] : score[size_t(choice[j])];
    if (over_chosen()) softmax_of(p, k, p);
    A sum = over_sum() ? A(kScoreSumEps) : A(1);
    for (i64 j = 0; over_sum() && j < k; ++j) sum += p[j];
    for (i64 j = 0; j < k; ++j) p[j] = p[j] / sum * A(at.scaling);
  }

  // Computes dz of a token.
  void grad(const A* dp, const A* z, const i32* choice, A* dz) {
    const i64 k = at.topk;
    std::fill_n(dz, experts, A(0));
    A *p = by.data(), *d = sums.data();  // by index of the choice
    for (i64 j = 0; j < k; ++j) d[j] = dp[j] * A(at.scaling);
    if (over_chosen()) {
      for (i64 j = 0; j < k; ++j) p[j] = z[choice[j]];
      softmax_of(p, k, p), softmax_grad(p, k, d);
      for (i64 j = 0; j < k; ++j) dz[choice[j]] = d[j];
      return;
    }
    if (at.score == RouterScore::softmax) {
      softmax_of(z, experts, score.data());
      for (i64 j = 0; j < k; ++j) dz[choice[j]] = d[j];
      return softmax_grad(score.data(), experts, dz);
    }
    A sum = A(kScoreSumEps), along = 0;
    for (i64 j = 0; j < k; ++j) p[j] = score_of(at.score, z[choice[j]]), sum += p[j];
    for (i64 j = 0; j < k; ++j) along += d[j] * p[j];
    for (i64 j = 0; j < k; ++j) {
      const A ds = over_sum() ? (d[j] - along / sum) / sum : d[j];
      dz[choice[j]] = ds * slope_of(at.score, z[choice[j]], p[j]);
    }
  }
};

constexpr i64 kRouteGrain = 16;

// B: type of the bias.
template <class A, class B>
Kernel route(const RouteSpec& at, i64 tokens, i64 experts) {
  return {0, [at, tokens, experts](const Args& a) {
            parallel_ranges(tokens, kRouteGrain, [&](i64 begin, i64 end) {
              RouteRow<A> row(at, experts);
              for (i64 t = begin; t < end; ++t) {
                const A* z = a.in<A>(0) + t * experts;
                i32* choice = a.out<i32>(1) + t * at.topk;
                scores_of(at.score, z, experts, row.score.data());
                const bool by_logit = row.over_chosen();
                for (i64 i = 0; i < experts; ++i) {
                  A by = by_logit ? z[i] : row.score[size_t(i)];
                  if (at.bias) by += A(a.in<B>(1)[i]);
                  if (at.by) by = a.in<A>(1)[t * experts + i];
                  row.by[size_t(i)] = by;
                }
                row.choose(choice);
                row.weigh(z, choice, a.out<A>(0) + t * at.topk);
              }
            });
          }};
}

template <class A>
Kernel route_grad(const RouteSpec& at, i64 tokens, i64 experts) {
  return {0, [at, tokens, experts](const Args& a) {
            parallel_ranges(tokens, kRouteGrain, [&](i64 begin, i64 end) {
              RouteRow<A> row(at, experts);
              for (i64 t = begin; t < end; ++t)
                row.grad(a.in<A>(0) + t * at.topk, a.in<A>(1) + t * experts, a.in<i32>(2) + t * at.topk,
                         a.out<A>(0) + t * experts);
            });
          }};
}

}  // namespace

Kernel prepare(const Route& op, const KernelContext& context) {
  const Shape z = context.in_shape(0);
  return for_router(op.name, context.ins[0].dtype, [&]<class A>() {
    const bool wide = op.at.bias && context.ins[1].dtype == DType::f64;
    return wide ? route<A, double>(op.at, z[0] * z[1], z[2]) : route<A, float>(op.at, z[0] * z[1], z[2]);
  });
}

Kernel prepare(const RouteGrad& op, const KernelContext& context) {
  const Shape z = context.in_shape(1);
  return for_router(op.name, context.ins[1].dtype, [&]<class A>() { return route_grad<A>(op.at, z[0] * z[1], z[2]); });
}

}  // namespace megalith::cpu
