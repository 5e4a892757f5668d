// Kernels of Scale, Cast and PutBack.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

Kernel prepare(const Scale& op, const Site& site) {
  return dispatch_float(site.ins[0].dtype, [&]<class X>() -> Kernel {
    return {0, [n = count(site.in_shape(0)), k = accum_t<X>(op.k)](const Args& a) {
              const X* x = a.in<X>(0);
              X* y = a.out<X>(0);
              parallel_blocks(n, [&](i64 begin, i64 end) {
                map(
                    end - begin, [&](auto v) { return k * v; }, y + begin, x + begin);
              });
            }};
  });
}

static Kernel cast(const Site& site) {
  return dispatch_float(site.ins[0].dtype, [&]<class X>() {
    return dispatch_float(site.outs[0].dtype, [&]<class Y>() -> Kernel {
      return {0, [n = count(site.in_shape(0))](const Args& a) {
                const X* x = a.in<X>(0);
                Y* y = a.out<Y>(0);
                parallel_blocks(n, [&](i64 begin, i64 end) { map(end - begin, kSame, y + begin, x + begin); });
              }};
    });
  });
}

Kernel prepare(const Cast&, const Site& site) { return cast(site); }
Kernel prepare(const PutBack&, const Site& site) { return cast(site); }

}  // namespace megalith::cpu
