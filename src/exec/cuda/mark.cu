#include "exec/cuda/mark.h"

namespace megalith::cuda {

static __global__ void mark(volatile u32* word, u32 value) { *word = value; }

void launch_mark(u32* word, u32 value, cudaStream_t stream) {
  mark<<<1, 1, 0, stream>>>(word, value);
  check_launch("mark");
}

}  // namespace megalith::cuda
