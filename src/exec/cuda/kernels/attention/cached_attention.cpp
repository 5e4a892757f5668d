// Kernels of CacheWrite and CachedAttention.
#include "exec/cuda/kernels/attention/cached_attention.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/attention/relative_bias.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const CacheWrite&, const KernelContext& context) {
  const Shape cache = context.in_shape(0), x = context.in_shape(1);
  const CacheWriteLaunch l{x[0], cache[0], count(cache) / std::max<i64>(1, cache[0]) * size_of(context.ins[0].dtype)};
  return {0, [l](const Args& a) { launch(l, a.ins[1], a.in<i32>(2), a.outs[0], a.stream); }};
}

Kernel prepare(const CachedAttention& op, const KernelContext& context) {
  const Shape q = context.in_shape(0), k = context.in_shape(1);
  check_activation(op.name, context.ins[0].dtype);
  check(q[4] <= 256, "[cached_attention] heads of {} numbers have no CUDA kernel: at most 256", q[4]);
  CachedAttentionLaunch l{
      context.ins[0].dtype, q[0], k[0], q[1], q[2], q[3], q[4], float(op.at.scale), op.at.window, op.at.alibi,
      op.at.alibi_scaled};
  if (op.at.alibi) {
    check(l.g * l.r <= l.kMostHeads, "[cached_attention] {} heads with ALiBi have no CUDA kernel: at most {}",
          l.g * l.r, l.kMostHeads);
    const Type& t = context.ins[0];
    const auto groups = indices(context.mesh, t.shape, t.layout, context.coord, 2),
               heads = indices(context.mesh, t.shape, t.layout, context.coord, 3);
    const auto all = alibi_slopes(op.at, t.dim(2) * t.dim(3));
    for (i64 i = 0; i < l.g * l.r; ++i) l.slopes[i] = float(all[size_t(groups[i / l.r] * t.dim(3) + heads[i % l.r])]);
  }
  const RelativeTable table{relative_buckets(op.at, k[0] - 1), int(l.g * l.r), context.ins.back().dtype};
  l.reach = table.buckets.reach;
  const i64 biases = table.heads * i64(table.buckets.distances()) * i64(sizeof(float));
  return {l.workspace() + biases, [l, table](const Args& a) {
            float* const partial = reinterpret_cast<float*>(a.workspace);
            float* const bias = partial + l.workspace() / i64(sizeof(float));
            if (l.reach > 0) spread_biases(table, a.ins[4], 1, bias, a.stream);
            launch(l, {a.ins[0], a.ins[1], a.ins[2], a.in<i32>(3), bias}, a.outs[0], partial, a.stream);
          }};
}

}  // namespace megalith::cuda
