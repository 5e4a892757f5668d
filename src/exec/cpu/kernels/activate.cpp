// Kernels of Activate and ActivateGrad (acts.h).
#include "base/threads.h"
#include "exec/cpu/kernels/acts.h"
#include "exec/cpu/kernels/with_bias.h"

namespace megalith::cpu {
namespace {

constexpr i64 kGrain = 4096;

template <class F, class T>
Kernel value_kernel(i64 n) {
  using A = accum_t<T>;
  return {0, [n](const Args& a) {
            const T* x = a.in<T>(0);
            T* y = a.out<T>(0);
            parallel_ranges(n, kGrain, [&](i64 begin, i64 end) {
              each_vector<A>(begin, end,
                             [&](i64 i, auto part) { store(y + i, F::template value<A>(load(x + i, part)), part); });
            });
          }};
}

template <class F, class T>
Kernel slope_kernel(i64 n, bool with_output) {
  using A = accum_t<T>;
  return {0, [n, with_output](const Args& a) {
            const T *dy = a.in<T>(0), *x = a.in<T>(1);
            T *dx = a.out<T>(0), *y = with_output ? a.out<T>(1) : nullptr;
            parallel_ranges(n, kGrain, [&](i64 begin, i64 end) {
              each_vector<A>(begin, end, [&](i64 i, auto part) {
                const Vec<A> at = load(x + i, part);
                store(dx + i, load(dy + i, part) * F::template slope<A>(at), part);
                if (y) store(y + i, F::template value<A>(at), part);
              });
            });
          }};
}

}  // namespace

Kernel prepare(const Activate& op, const KernelContext& context) {
  const i64 n = count(context.in_shape(0));
  return dispatch_act(op.act, context.ins[0].dtype, [&]<class F, class T>() { return value_kernel<F, T>(n); });
}

Kernel prepare(const ActivateGrad& op, const KernelContext& context) {
  const i64 n = count(context.in_shape(1));
  const DType dtype = context.ins[1].dtype;
  const Kernel k =
      dispatch_act(op.act, dtype, [&]<class F, class T>() { return slope_kernel<F, T>(n, op.with_output); });
  return op.bias ? with_bias(k, dtype, context.in_shape(1), op.with_output ? 2 : 1) : k;
}

}  // namespace megalith::cpu
