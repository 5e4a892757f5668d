#include "exec/cuda/kernels/loss/embedding_lists.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256;

// blockDim.x threads cover a row of `width` U; a block has blockDim.y rows.
template <class U>
__global__ void __launch_bounds__(kThreads) lookup_kernel(EmbeddingShape s, const i32* ids, const U* table, U* y) {
  const i64 token = i64(blockIdx.x) * blockDim.y + threadIdx.y;
  if (token >= s.tokens) return;
  const i64 row = row_of(s, ids[token]);
  const U* from = table + row * s.width;
  U* to = y + token * s.width;
  if (row == s.rows) {
    for (i64 i = threadIdx.x; i < s.width; i += blockDim.x) to[i] = U{};
  } else {
#pragma unroll 4
    for (i64 i = threadIdx.x; i < s.width; i += blockDim.x) to[i] = __ldg(from + i);
  }
}

template <class U>
void launch_lookup(EmbeddingShape s, i64 bytes, const i32* ids, const void* table, void* y, cudaStream_t stream) {
  s.width = bytes / i64(sizeof(U));
  unsigned along = 1;
  while (along < 128 && along < s.width) along *= 2;
  const dim3 block(along, kThreads / along);
  lookup_kernel<<<blocks_for(s.tokens, block.y), block, 0, stream>>>(s, ids, static_cast<const U*>(table),
                                                                     static_cast<U*>(y));
}

}  // namespace

void launch_embedding(const EmbeddingShape& s, i64 element_bytes, const i32* ids, const void* table, void* y,
                      cudaStream_t stream) {
  const i64 bytes = s.width * element_bytes;
  if (s.tokens * bytes == 0) return;
  if (bytes % 16 == 0)
    launch_lookup<uint4>(s, bytes, ids, table, y, stream);
  else if (bytes % 4 == 0)
    launch_lookup<u32>(s, bytes, ids, table, y, stream);
  else
    launch_lookup<u16>(s, bytes, ids, table, y, stream);
  check_launch("[embedding] launch");
}

}  // namespace megalith::cuda
