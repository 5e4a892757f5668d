// Support for sequences that end early with cuDNN: their lengths, and zeros in results that it leaves unwritten.
#pragma once
#include <array>

#include "exec/cuda/device.h"

namespace megalith::cuda {

// lengths [samples] -> to [2, samples]: `queries` for each sample, and its keys, 0 to `keys` of them.
struct SequenceEnds {
  int samples, queries, keys;
};
void launch(const SequenceEnds& n, const i32* lengths, i32* to, cudaStream_t stream);

// The rows of a result. It has `positions`, `step` words of 4 bytes apart. Each position has a row of `width` words a
// sample, `sample_step` apart.
struct SequenceRows {
  void* at;
  i64 positions, step, sample_step, width;
  bool from_end;  // sets rows after a sequence's end to `value`; otherwise all rows of a sequence without keys
  float value = 0;
};
void clear_rows(int samples, const std::array<SequenceRows, 3>& rows, const i32* lengths, cudaStream_t stream);

}  // namespace megalith::cuda
