#include "exec/cuda/kernels/box_copy.h"

#include "exec/cuda/launch.cuh"
#include "exec/cuda/products/loop_table.cuh"

namespace megalith::cuda {

struct Memories {
  std::byte* at[3];
};

// The kEach words of a thread are a block's width apart. All are loaded before the first is stored.
template <class Word>
static __device__ void copy_words(const BoxCopy& c, const std::byte* from, std::byte* to, u32 first) {
  Word words[BoxCopies::kEach];
  i64 places[BoxCopies::kEach];
#pragma unroll
  for (int e = 0; e < BoxCopies::kEach; ++e) {
    u32 rest = first + e * BoxCopies::kThreads;
    places[e] = -1;
    if (rest >= c.words) continue;
    i64 source = 0, target = 0;
#pragma unroll
    for (int d = 0; d < BoxCopy::kMostDims; ++d) {
      if (d >= c.dims) break;
      const u32 next = d + 1 < c.dims ? divide(rest, c.divisors[d]) : 0;
      const u32 here = rest - next * c.sizes[d];
      source += here * c.from_strides[d], target += here * c.to_strides[d];
      rest = next;
    }
    words[e] = *reinterpret_cast<const Word*>(from + source);
    places[e] = target;
  }
#pragma unroll
  for (int e = 0; e < BoxCopies::kEach; ++e)
    if (places[e] >= 0) *reinterpret_cast<Word*>(to + places[e]) = words[e];
}

static __global__ void __launch_bounds__(BoxCopies::kThreads)
    copy_boxes(const __grid_constant__ BoxCopies all, const __grid_constant__ Memories memories) {
  int k = 0;
  while (k + 1 < all.count && blockIdx.x >= all.box[k + 1].first_block) ++k;
  const BoxCopy& c = all.box[k];
  const std::byte* from = memories.at[c.from_memory] + c.from;
  std::byte* to = memories.at[c.to_memory] + c.to;
  const u32 first = (blockIdx.x - c.first_block) * BoxCopies::kThreads * BoxCopies::kEach + threadIdx.x;
  switch (c.width) {
    case 16:
      return copy_words<uint4>(c, from, to, first);
    case 8:
      return copy_words<uint2>(c, from, to, first);
    case 4:
      return copy_words<u32>(c, from, to, first);
    case 2:
      return copy_words<u16>(c, from, to, first);
    default:
      return copy_words<u8>(c, from, to, first);
  }
}

void launch(const BoxCopies& c, const std::byte* in, std::byte* out, std::byte* workspace, cudaStream_t stream) {
  if (c.blocks == 0) return;
  copy_boxes<<<c.blocks, BoxCopies::kThreads, 0, stream>>>(c, {{const_cast<std::byte*>(in), out, workspace}});
  check_launch("[relayout] copying boxes");
}

}  // namespace megalith::cuda
