// Attention backward for Hopper's tensor cores (bf16, head size 64 or 128, nothing else; causal, all queries or any
// runs of them, keys from position 0 on; or all keys of sequences that may end early: queries lie behind them then). It
// has five products and the same bits every run, without dS in memory. Of
//   P = exp(scale q k^T - lse)    dS = P * (do v^T - D)    D = sum_d do * o
// a block has a tile of a group's keys and walks the queries of all the group's heads: it sums dv = P^T do and dk =
// scale dS^T q in registers. It adds its part of dq = scale dS k to f32 sums in memory, where the blocks take turns in
// a fixed order. A warp has the copy engine load ahead what two warpgroups multiply, each 64 of the tile's keys; two or
// three more add dq. What is summed up is made dq by blocks between their tiles.
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
