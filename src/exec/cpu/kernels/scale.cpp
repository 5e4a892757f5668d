// Kernels of Scale, Cast and PutBack.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

Kernel prepare(const Scale& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    return {0, [n = count(context.in_shape(0)), k = accum_t<X>(op.k)](const Args& a) {
              const X* x = a.in<X>(0);
              X* y = a.out<X>(0);
              parallel_blocks(n, [&](i64 begin, i64 end) {
                map(
                    end - begin, [&](auto v) { return k * v; }, y + begin, x + begin);
              });
            }};
  });
}

static Kernel cast(const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class X>() {
    return dispatch_float(context.outs[0].dtype, [&]<class Y>() -> Kernel {
      return {0, [n = count(context.in_shape(0))](const Args& a) {
                const X* x = a.in<X>(0);
                Y* y = a.out<Y>(0);
                parallel_blocks(n, [&](i64 begin, i64 end) { map(end - begin, kSame, y + begin, x + begin); });
              }};
    });
  });
}

Kernel prepare(const Cast&, const KernelContext& context) { return cast(context); }
Kernel prepare(const PutBack&, const KernelContext& context) { return cast(context); }

}  // namespace megalith::cpu
