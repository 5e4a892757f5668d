// How norms and their gradients process rows of h elements: threads, registers, blocks, and the workspace of the
// gradient.
#pragma once
#include "exec/cuda_needs/gpu_sizes.h"

namespace megalith::cuda {

struct NormShape {
  static constexpr i64 kMostRows = (i64{1} << 31) - (i64{1} << 24), kMostColumns = i64{1} << 30;
  DType x, w;
  bool centred;  // LayerNorm
  i64 rows, h;
};

// Threads and registers by the size of a row. `per`: elements a thread, 0 for the kernel of any size. `lanes`: threads
// a row, a power of two below 32 or a number of whole warps.
struct NormBlock {
  int per, lanes, threads;
};

// Maximum threads of a block, by `per` and an element's bytes.
constexpr int norm_threads(int per, int element) { return per == 32 && element == 2 ? 512 : 256; }
// The number of rows that a thread has in transfer to shared memory, by the bytes of a row.
constexpr int norm_depth(int bytes) { return bytes <= 128 ? 3 : 2; }

// The limits of a launch on this GPU. The kernels also use some static shared memory, for sums.
constexpr i64 kNormStaticShared = 1024;
struct NormDevice {
  int sms;
  i64 shared;  // maximum bytes of a block
  int capability;
};

// `inputs`: number of tensors whose rows are read.
NormBlock norm_block(const NormShape& s, int inputs, const NormDevice& device);

// How norm_grad_hopper.cu processes rows: groups of `lanes` threads. Each thread has one pack of 8 elements of two
// rows, or two packs of one row.
struct NormRing {
  static constexpr int kThreads = 512, kDepth = 3;  // maximum threads of a block; stages of a group
  static constexpr int kMostGroups = 5;             // of 96 threads, at 520 to 768 elements a row
  static constexpr int most_warps(int packs) { return packs == 1 ? 8 : 16; }  // of a group
  int packs = 0, lanes = 0, groups = 0;                                       // packs 0: norm_grad.cu is used
  int rows() const { return packs == 1 ? 2 : 1; }
  // Bytes for the form with the most inputs, which also suffice for the sums. At most 144 KiB.
  int shared(i64 h) const { return int(groups * kDepth * 3 * rows() * h * 2); }
};
NormRing norm_ring(const NormShape& s, const NormDevice& device);

int norm_ring_blocks(const NormShape& s, const NormRing& ring, const NormDevice& device);

// The gradient reads three tensors of rows.
NormBlock norm_grad_block(const NormShape& s, const NormDevice& device);
// Whether the gradient has registers for the sum of a bias's gradient.
bool adds_up_bias(const NormShape& s, const NormDevice& device);
// Blocks of norm_grad.cu. `fit`: blocks that are resident on a multiprocessor.
int norm_blocks(const NormBlock& b, int fit, const NormDevice& device, i64 rows);
// Blocks that a multiprocessor should have; more would gain nothing.
int enough_norm_blocks(const NormBlock& b);
// Bytes of the gradient's workspace: each block sums `sums` rows.
i64 norm_grad_workspace(const NormShape& s, int sums, int blocks);

}  // namespace megalith::cuda
