// Sequences that end early, for cuDNN: their lengths, and zeros where it leaves results unwritten.
#pragma once
#include <array>

#include "exec/cuda/device.h"

namespace megalith::cuda {

// lengths [samples] -> to [2, samples]: `queries` of each, and its keys, 0 to `keys` of them.
struct SequenceEnds {
  int samples, queries, keys;
};
void launch(const SequenceEnds& n, const i32* lengths, i32* to, cudaStream_t stream);

// Rows of a result: of `positions`, `step` words of 4 bytes apart, each with a row of `width` words a sample, those
// `sample_step` apart.
struct SequenceRows {
  void* at;
  i64 positions, step, sample_step, width;
  bool from_end;  // rows after a sequence's end become `value`; otherwise all rows of a sequence without keys
  float value = 0;
};
void clear_rows(int samples, const std::array<SequenceRows, 3>& rows, const i32* lengths, cudaStream_t stream);

}  // namespace megalith::cuda
