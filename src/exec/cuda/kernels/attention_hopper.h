// Attention backward for Hopper's tensor cores (bf16, causal, head size 64 or 128, nothing else): the same bits every
// run, without atomics and without dS in memory, at the price of computing the scores twice. Of
//   P = exp(scale q k^T - lse)    dS = P * (do v^T - D)    D = sum_d do * o
// one kernel sums dq = scale dS k, a block having a tile of a head's queries; another dv = P^T do and dk = scale dS^T
// q, a block having a tile of a group's keys, for all its heads. In both, a warp has the copy engine load ahead what
// two or three warpgroups multiply, each its 64 rows of every product.
#pragma once
#include <cuda.h>

#include "exec/cuda/kernels/attention.h"

namespace megalith::cuda {

// q, do, k and v as the copy engine reads them: boxes of 64 positions x 64 columns of [positions, samples * heads * d].
struct HopperGradMaps {
  CUtensorMap q, dout, k, v;
};

// Bytes. Error for sizes whose counts do not fit into 31 bits.
i64 hopper_grad_workspace(const AttentionSizes& z);
HopperGradMaps hopper_grad_maps(const AttentionSizes& z, const AttentionGradBuffers& x);
void launch_hopper_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                        cudaStream_t stream);

}  // namespace megalith::cuda
