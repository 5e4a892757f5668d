#include "exec/cuda/kernels/experts/clear_rows.h"

#include <algorithm>

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kBlocks = 1024;

template <class U>
__global__ void __launch_bounds__(kThreads)
    clear_rows_kernel(i64 rows, i64 width, const i32* filled, const U* from, U* to) {
  const i64 exist = min(max(i64(*filled), i64(0)), rows) * width, step = i64(kThreads) * gridDim.x;
  const i64 first = from == to ? exist : 0;
  for (i64 i = first + i64(blockIdx.x) * kThreads + threadIdx.x; i < rows * width; i += step)
    to[i] = i < exist ? from[i] : U{};
}

template <class U>
void launch_words(i64 rows, i64 bytes, const i32* filled, const void* from, void* to, cudaStream_t stream) {
  const i64 width = bytes / i64(sizeof(U));
  const unsigned blocks = std::min<unsigned>(kBlocks, blocks_for(rows * width, kThreads));
  clear_rows_kernel<<<blocks, kThreads, 0, stream>>>(rows, width, filled, static_cast<const U*>(from),
                                                     static_cast<U*>(to));
}

}  // namespace

void launch_clear_rows(i64 rows, i64 bytes, const i32* filled, const void* from, void* to, cudaStream_t stream) {
  if (rows * bytes == 0) return;
  if (bytes % i64(sizeof(uint4)) == 0)
    launch_words<uint4>(rows, bytes, filled, from, to, stream);
  else
    launch_words<u16>(rows, bytes, filled, from, to, stream);
  check_launch("[clear_rows] launch");
}

}  // namespace megalith::cuda
