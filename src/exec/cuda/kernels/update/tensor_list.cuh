// Finds a block's chunk in a list of tensors (tensor_list.h), on the device.
#pragma once
#include "exec/cuda/kernels/update/tensor_list.h"

namespace megalith::cuda {

// The work of block number `block`: elements [begin, end) of a tensor.
struct Chunk {
  int tensor;
  i64 begin, end;
};
template <class Item, int kMost>
__device__ inline Chunk find_chunk(const TensorList<Item, kMost>& list, i64 block, i64 chunk) {
  int low = 0, high = list.count;  // list.first[low] <= block
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (list.first[middle] <= block ? low : high) = middle;
  }
  const i64 begin = (block - list.first[low]) * chunk;
  return {low, begin, min(list.items[low].n, begin + chunk)};
}

}  // namespace megalith::cuda
