// Attention backward for Hopper's tensor cores, for bf16 and head size 64 or 128. It is causal, with any runs of
// queries, and keys from position 0 on. Or it sees all keys of sequences that may end early; then queries come after
// them. It has five products and the same bits in every run, without dS in memory. With
//   P = exp(scale q k^T - lse)    dS = P * (do v^T - D)    D = sum_d do * o
// a block has a tile of a group's keys and loops over the queries of all the group's heads. It sums dv = P^T do and
// dk = scale dS^T q in registers. It adds its part of `dq = scale dS k` to f32 sums in memory. Blocks take turns in a
// fixed order. One warp starts the copies for two warpgroups, which multiply, each with 64 of the tile's keys. Two or
// three more warps add dq. Blocks convert the sums to dq between their tiles.
#pragma once
#include <cuda.h>

#include "exec/cuda/kernels/attention/attention.h"

namespace megalith::cuda {

// q, do, k and v as the copy engine reads them: boxes of 64 positions x 64 columns of [positions, samples * heads * d].
struct HopperGradMaps {
  CUtensorMap q, dout, k, v;
};

HopperGradMaps hopper_grad_maps(const AttentionSizes& z, const AttentionGradBuffers& x);
void launch_hopper_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                        cudaStream_t stream);

}  // namespace megalith::cuda
