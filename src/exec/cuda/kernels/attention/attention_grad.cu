// Our attention backward, without atomics. It recomputes probabilities P from q, k and lse. With D = sum_d do * o,
// and P' the probabilities after dropout,
//   dv = P'^T do    dS = P * (keep * do v^T - D)    dq = scale * dS k    dk = scale * dS^T q
// One kernel has a tile of queries and loops over the keys, for dq. Another has a tile of keys and loops over the
// queries of all the group's heads, for dk and dv. Its scores are transposed (one row per key), so its sums stay in
// registers. For heads wider than 128, separate blocks sum chunks of 128 columns.
#include "exec/cuda/kernels/attention/attention_grad_keys.cuh"
#include "exec/cuda/kernels/attention/attention_grad_queries.cuh"

namespace megalith::cuda {

using namespace gradient;

namespace {

template <class T>
__global__ void stats_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                             QueryStats* stats) {
  const i64 rows = i64(z.s) * z.b * z.g * z.r, row = i64(blockIdx.x) * (blockDim.x / 32) + warp_id();
  if (row >= rows) return;
  const T *dout = static_cast<const T*>(x.dout) + row * z.d, *o = static_cast<const T*>(x.o) + row * z.d;
  float sum = 0;
  if (z.d % 2 == 0 && sizeof(T) == 2) {
    for (int i = 2 * lane_id(); i < z.d; i += 64) {
      float a[2], c[2];
      unpack(load_pack<2>(dout + i), a), unpack(load_pack<2>(o + i), c);
      sum += a[0] * c[0] + a[1] * c[1];
    }
  } else {
    for (int i = lane_id(); i < z.d; i += 32) sum += float(dout[i]) * float(o[i]);
  }
  sum = warp_sum(sum);
  const i64 heads = i64(z.b) * z.g * z.r, head = row % heads, at = row / heads;
  const float lse = x.lse[row];
  if (lane_id() == 0) stats[head * z.s + at] = {lse == -INFINITY ? INFINITY : lse * kLog2E, sum};
}

__global__ void starts_kernel(const __grid_constant__ AttentionSizes z, const i32* starts, int size, int tiles,
                              Span* to) {
  const int i = blockIdx.x * (blockDim.x / 32) + warp_id();
  if (i >= tiles * z.b) return;
  const Span span = span_of_starts(z, tile_at(z.positions, i % tiles, size), i / tiles, starts);
  if (lane_id() == 0) to[i] = span;
}

template <class F>
void with_kernel(const AttentionSizes& z, F&& f) {
  const auto sized = [&]<class T, bool kRelative>() {
    if (z.d <= 64) return f.template operator()<T, 64, kRelative>();
    if (z.d <= 128) return f.template operator()<T, 128, kRelative>();
    return f.template operator()<T, 256, kRelative>();
  };
  const auto typed = [&]<class T>() {
    z.reach > 0 ? sized.template operator()<T, true>() : sized.template operator()<T, false>();
  };
  dispatch_activation(z.dtype, typed);
}

template <class T>
void prepare_stats(const AttentionSizes& z, const AttentionGradBuffers& x, const Workspace& w, cudaStream_t stream) {
  constexpr int kWarps = 8;
  const i64 rows = i64(z.s) * z.b * z.g * z.r;
  stats_kernel<T><<<blocks_for(rows, kWarps), 32 * kWarps, 0, stream>>>(z, x, w.stats);
  if (!x.starts) return;
  const int tiles = tiles_of(z.positions, kWalked<T>);
  starts_kernel<<<blocks_for(i64(tiles) * z.b, kWarps), 32 * kWarps, 0, stream>>>(z, x.starts, kWalked<T>, tiles,
                                                                                  w.starts);
}

void allow_shared(const void* kernel, i64 bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
             "[attention_grad] shared memory");
}

template <class T, int D, bool kRelative>
void launch_grads(const AttentionSizes& z, const AttentionGradBuffers& x, const Workspace& w, cudaStream_t stream) {
  const int chunks = (z.d + kChunk<D> - 1) / kChunk<D>;
  const i64 dq = dq_bytes<T, D>(z.stages, kRelative), dkv = dkv_bytes<T, D>(z.stages);
  allow_shared(reinterpret_cast<const void*>(query_grad_kernel<T, D, kRelative>), dq);
  allow_shared(reinterpret_cast<const void*>(key_grad_kernel<T, D, kRelative>), dkv);
  const dim3 queries(unsigned(tiles_of(z.positions, 16 * kQueryWarps<T, D>) * chunks), unsigned(z.g * z.r),
                     unsigned(z.b));
  query_grad_kernel<T, D, kRelative><<<queries, 32 * kQueryWarps<T, D>, size_t(dq), stream>>>(z, x, w);
  const dim3 keys(unsigned(tiles_of(z.keys, 16 * kKeyWarps) * chunks), unsigned(z.g), unsigned(z.b));
  key_grad_kernel<T, D, kRelative>
      <<<keys, 32 * kKeyWarps, size_t(dkv), stream>>>(z, x, w, tiles_of(z.positions, kWalked<T>));
}

}  // namespace

i64 attention_grad_shared_bytes(const AttentionSizes& z) {
  i64 bytes = 0;
  with_kernel(z, [&]<class T, int D, bool kRelative>() {
    bytes = std::max(dq_bytes<T, D>(z.stages, kRelative), dkv_bytes<T, D>(z.stages));
  });
  return bytes;
}

void launch(const AttentionSizes& z, const AttentionGradBuffers& x, cudaStream_t stream) {
  if (z.t == 0 || z.b == 0 || z.g == 0) return;
  const Workspace w{reinterpret_cast<QueryStats*>(x.workspace),
                    reinterpret_cast<Span*>(x.workspace + attention_stats_bytes(z))};
  check(z.s > 0 && z.r > 0, "[attention_grad] no queries for {} keys", z.t);
  with_kernel(z, [&]<class T, int D, bool kRelative>() {
    prepare_stats<T>(z, x, w, stream);
    launch_grads<T, D, kRelative>(z, x, w, stream);
  });
  check_launch("[attention_grad] launch");
}

}  // namespace megalith::cuda
