// Kernels of Jitter and FakeLogits, row by row. A row has the numbers of one token.
#include "base/rng.h"
#include "base/threads.h"
#include "exec/cpu/kernels/router_row.h"

namespace megalith::cpu {
namespace {

struct NoiseShape {
  u64 seed;
  std::vector<i64> positions, columns;  // global indices
  i64 batch;
};

NoiseShape noise_shape(const KernelContext& context, u64 seed) {
  return {seed, context.in_indices(0, 0), context.in_indices(0, 2), context.in_shape(0)[1]};
}

// Calls f(arguments, element, random number in [0, 1)) for each element.
template <class F>
Kernel with_noise(const NoiseShape& s, const F& f) {
  return {0, [s, f](const Args& a) {
            parallel_for(i64(s.positions.size()) * s.batch, 16, [&](i64 row) {
              const i64 n = i64(s.columns.size());
              const u64 h = mix_all(s.seed, a.in<i64>(1)[row % s.batch], s.positions[size_t(row / s.batch)]);
              for (i64 i = 0; i < n; ++i) f(a, row * n + i, unit(mix(h, u64(s.columns[size_t(i)]))));
            });
          }};
}

}  // namespace

Kernel prepare(const Jitter& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class T>() {
    using A = accum_t<T>;
    return with_noise(noise_shape(context, op.seed),
                      [low = A(1 - op.eps), wide = A(2 * op.eps)](const Args& a, i64 i, double u) {
                        a.out<T>(0)[i] = T(A(a.in<T>(0)[i]) * (low + wide * A(u)));
                      });
  });
}

Kernel prepare(const FakeLogits& op, const KernelContext& context) {
  return for_router(op.name, context.ins[0].dtype, [&]<class A>() -> Kernel {
    if (op.add == 0)
      return with_noise(noise_shape(context, op.seed),
                        [](const Args& a, i64 i, double u) { a.out<A>(0)[i] = 2 * A(u) - 1; });
    std::vector<A> add;
    for (i64 e : context.in_indices(0, 2)) add.push_back(A(op.add * normal(mix(op.seed, u64(e)))));
    return {0, [add, tokens = context.in_shape(0)[0] * context.in_shape(0)[1]](const Args& a) {
              parallel_for(tokens, 64, [&](i64 t) {
                const i64 n = i64(add.size());
                for (i64 i = 0; i < n; ++i) a.out<A>(0)[t * n + i] = a.in<A>(0)[t * n + i] + add[size_t(i)];
              });
            }};
  });
}

}  // namespace megalith::cpu
