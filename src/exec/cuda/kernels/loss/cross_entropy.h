// The vocabulary-parallel loss. Logits [rows, width] f32 or bf16, of which the first `valid` columns exist;
// statistics m [rows] and z [2, rows] f32; labels [rows] i32, global. A label outside this rank's columns adds
// nothing.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/vocab_blocks.h"

namespace megalith::cuda {

struct VocabLaunch {
  static constexpr int kMostRuns = 2;
  DType dtype;
  i64 rows = 0;
  int width = 0, valid = 0;
  int start[kMostRuns] = {}, length[kMostRuns] = {};  // of runs of consecutive global columns, increasing
};

// m = max x
void launch_vocab_max(const VocabLaunch& l, const void* x, float* m, cudaStream_t stream);
// z0 = sum exp(x - m), z1 = x[label] - m
void launch_vocab_sums(const VocabLaunch& l, const void* x, const i32* labels, const float* m, float* z,
                       cudaStream_t stream);
// Both in one pass over x.
void launch_vocab_max_sums(const VocabLaunch& l, const void* x, const i32* labels, float* m, float* z,
                           cudaStream_t stream);

struct VocabGrad {
  const float* dz;  // [2, rows]
  const void* x;
  const i32* labels;
  const float* m;
  void* dx;  // may be x
};
// dx = dz0 exp(x - m) + dz1 [label]; 0 in the columns that do not exist
void launch_vocab_sums_grad(const VocabLaunch& l, const VocabGrad& g, cudaStream_t stream);

// Loss and gradient together. A row stays in the registers of a cluster's threads from its read to the write of the
// gradient. So it needs Hopper, and rows that fit.
struct VocabLossLaunch {
  static constexpr int kThreads = kVocabThreads, kPacks = kVocabPacks, kMostBlocks = kVocabBlocks;
  VocabLaunch rows;
  int blocks = 0;  // of a row; 0: it does not fit
};
VocabLossLaunch plan_vocab_loss(const VocabLaunch& rows, int capability);
struct VocabLossBuffers {
  const float* dy;
  const void* x;
  const i32* labels;
  float* z;
  void* dx;  // may be x
};
void launch_vocab_loss(const VocabLossLaunch& l, const VocabLossBuffers& b, cudaStream_t stream);

// n rows: loss = log z0 - z1 and dz = [dy / z0, -dy]
void launch_cross_entropy(i64 n, const float* z, float* loss, cudaStream_t stream);
void launch_cross_entropy_grad(i64 n, const float* dy, const float* z, float* dz, cudaStream_t stream);

}  // namespace megalith::cuda
