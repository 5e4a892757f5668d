// Kernels of Add and AddGrad.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

namespace {

// z[i] = x[i] + y[i * step]; z may be x or y.
template <class X, class Y>
void add_row(const X* x, const Y* y, i64 step, X* z, i64 n) {
  using S = std::common_type_t<accum_t<X>, accum_t<Y>>;
  if (step == 1) {
    map(n, kPlus, z, x, y);
  } else if (step == 0) {
    if constexpr (std::is_same_v<accum_t<X>, S>)
      map(
          n, [c = S(y[0])](auto a) { return a + c; }, z, x);
    else
      for (i64 i = 0; i < n; ++i) z[i] = X(S(x[i]) + S(y[0]));
  } else {
    for (i64 i = 0; i < n; ++i) z[i] = X(S(x[i]) + S(y[i * step]));
  }
}

template <class X, class Y>
Kernel make(const std::vector<Loop>& loops) {  // with the strides of y and z; x has z's strides
  return {0, [loops](const Args& a) {
            const i64 step = loops.empty() ? 0 : loops.back().stride[0];
            parallel_rows(loops, [&](const auto& at, i64 n) {
              add_row(a.in<X>(0) + at[1], a.in<Y>(1) + at[0], step, a.out<X>(0) + at[1], n);
            });
          }};
}

}  // namespace

Kernel prepare(const Add& op, const KernelContext& context) {
  const auto [ins, outs] = split_spec(op.spec);
  check(ins[0] == outs[0], "[add] {}: the first input must have the result's dims", op.spec);
  const auto loops = make_loops({{ins[1], context.in_shape(1)}, {outs[0], context.out_shape(0)}});
  return dispatch_float(context.ins[0].dtype, [&]<class X>() {
    return dispatch_float(context.ins[1].dtype, [&]<class Y>() { return make<X, Y>(loops); });
  });
}

Kernel prepare(const AddGrad& op, const KernelContext& context) {
  const std::string spec = letters(op.ndim);
  return prepare(Add{spec + "," + spec + "->" + spec}, context);
}

}  // namespace megalith::cpu
