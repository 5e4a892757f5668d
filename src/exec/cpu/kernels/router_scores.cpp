// Kernels of RouterScores, LogSumExp, their gradients, and ExpertMap, token by token.
#include "base/threads.h"
#include "exec/cpu/kernels/router_row.h"

namespace megalith::cpu {
namespace {

constexpr i64 kScoresGrain = 32;

template <class A>
void normalised_scores(RouterScore kind, const A* z, i64 n, A* q) {
  scores_of(kind, z, n, q);
  if (kind == RouterScore::softmax) return;
  A sum = A(kScoreSumEps);
  for (i64 i = 0; i < n; ++i) sum += q[i];
  for (i64 i = 0; i < n; ++i) q[i] /= sum;
}

// room: scratch for n numbers.
template <class A>
void normalised_scores_grad(RouterScore kind, const A* dq, const A* z, i64 n, A* room, A* dz) {
  if (kind == RouterScore::softmax) {
    softmax_of(z, n, room);
    std::copy_n(dq, n, dz);
    return softmax_grad(room, n, dz);
  }
  scores_of(kind, z, n, room);
  A sum = A(kScoreSumEps), along = 0;
  for (i64 i = 0; i < n; ++i) sum += room[i], along += dq[i] * room[i];
  for (i64 i = 0; i < n; ++i) dz[i] = (dq[i] - along / sum) / sum * slope_of(kind, z[i], room[i]);
}

// Calls f(token) for all tokens on all cores.
template <class F>
Kernel each_token(i64 tokens, F f) {
  return {0, [tokens, f](const Args& a) { parallel_for(tokens, kScoresGrain, [&](i64 t) { f(a, t); }); }};
}

}  // namespace

Kernel prepare(const RouterScores& op, const KernelContext& context) {
  const Shape z = context.in_shape(0);
  return for_router(op.name, context.ins[0].dtype, [&]<class A>() {
    return each_token(z[0] * z[1], [kind = op.score, n = z[2]](const Args& a, i64 t) {
      normalised_scores(kind, a.in<A>(0) + t * n, n, a.out<A>(0) + t * n);
    });
  });
}

Kernel prepare(const RouterScoresGrad& op, const KernelContext& context) {
  const Shape z = context.in_shape(1);
  return for_router(op.name, context.ins[1].dtype, [&]<class A>() -> Kernel {
    const i64 tokens = z[0] * z[1], n = z[2];
    return {0, [kind = op.score, tokens, n](const Args& a) {
              parallel_ranges(tokens, kScoresGrain, [&](i64 begin, i64 end) {
                std::vector<A> room(static_cast<size_t>(n));
                for (i64 t = begin; t < end; ++t)
                  normalised_scores_grad(kind, a.in<A>(0) + t * n, a.in<A>(1) + t * n, n, room.data(),
                                         a.out<A>(0) + t * n);
              });
            }};
  });
}

Kernel prepare(const LogSumExp& op, const KernelContext& context) {
  const Shape z = context.in_shape(0);
  return for_router(op.name, context.ins[0].dtype, [&]<class A>() {
    return each_token(z[0] * z[1], [n = z[2]](const Args& a, i64 t) {
      const A* x = a.in<A>(0) + t * n;
      const A most = *std::max_element(x, x + n);
      A sum = 0;
      for (i64 i = 0; i < n; ++i) sum += std::exp(x[i] - most);
      a.out<A>(0)[t] = most + std::log(sum);
    });
  });
}

Kernel prepare(const LogSumExpGrad& op, const KernelContext& context) {
  const Shape z = context.in_shape(1);
  return for_router(op.name, context.ins[1].dtype, [&]<class A>() {
    return each_token(z[0] * z[1], [n = z[2]](const Args& a, i64 t) {
      A* dz = a.out<A>(0) + t * n;
      softmax_of(a.in<A>(1) + t * n, n, dz);
      for (i64 i = 0; i < n; ++i) dz[i] *= a.in<A>(0)[t];
    });
  });
}

Kernel prepare(const ExpertMap& op, const KernelContext& context) {
  const Shape choice = context.in_shape(0);
  return for_router(op.name, op.dtype, [&]<class A>() {
    return each_token(choice[0] * choice[1], [n = op.experts, k = choice[2]](const Args& a, i64 t) {
      A* m = a.out<A>(0) + t * n;
      std::fill_n(m, n, A(0));
      for (i64 j = 0; j < k; ++j)
        if (const i32 e = a.in<i32>(0)[t * k + j]; e >= 0 && e < n) m[e] = 1;
    });
  });
}

}  // namespace megalith::cpu
