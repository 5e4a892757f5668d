// Kernels of LatentKeys and LatentKeysGrad. A row is one position of one sequence. The gradient of the shared part is
// summed head by head, in f32 or f64.
#include <cstring>

#include "base/threads.h"
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

namespace {

struct KeyRows {
  i64 rows, heads, own, shared, value;
  i64 kv() const { return own + value; }
  i64 k() const { return own + shared; }
};

KeyRows key_rows(i64 own, i64 shared, i64 value, const Shape& kv) { return {kv[0] * kv[1], kv[2], own, shared, value}; }

template <class T>
void copy(T* to, const T* from, i64 n) {
  std::memcpy(static_cast<void*>(to), from, size_t(n) * sizeof(T));
}

template <class T>
Kernel spread(const KeyRows& n) {
  return {0, [n](const Args& a) {
            parallel_for(n.rows, 8, [&](i64 row) {
              const T *kv = a.in<T>(0) + row * n.heads * n.kv(), *shared = a.in<T>(1) + row * n.shared;
              T *k = a.out<T>(0) + row * n.heads * n.k(), *v = a.out<T>(1) + row * n.heads * n.value;
              for (i64 h = 0; h < n.heads; ++h, kv += n.kv(), k += n.k(), v += n.value) {
                copy(k, kv, n.own), copy(k + n.own, shared, n.shared);
                copy(v, kv + n.own, n.value);
              }
            });
          }};
}

template <class T>
Kernel gather(const KeyRows& n) {
  using A = accum_t<T>;
  return {0, [n](const Args& a) {
            parallel_for(n.rows, 8, [&](i64 row) {
              const T *dk = a.in<T>(0) + row * n.heads * n.k(), *dv = a.in<T>(1) + row * n.heads * n.value;
              T *dkv = a.out<T>(0) + row * n.heads * n.kv(), *shared = a.out<T>(1) + row * n.shared;
              std::vector<A> sum(size_t(n.shared), A(0));
              for (i64 h = 0; h < n.heads; ++h, dkv += n.kv(), dk += n.k(), dv += n.value) {
                copy(dkv, dk, n.own), copy(dkv + n.own, dv, n.value);
                for (i64 i = 0; i < n.shared; ++i) sum[size_t(i)] += A(dk[n.own + i]);
              }
              for (i64 i = 0; i < n.shared; ++i) shared[i] = T(sum[size_t(i)]);
            });
          }};
}

}  // namespace

Kernel prepare(const LatentKeys& op, const KernelContext& context) {
  const KeyRows n = key_rows(op.own, op.shared, op.value, context.in_shape(0));
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return spread<T>(n); });
}

Kernel prepare(const LatentKeysGrad& op, const KernelContext& context) {
  const KeyRows n = key_rows(op.own, op.shared, op.value, context.out_shape(0));
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return gather<T>(n); });
}

}  // namespace megalith::cpu
