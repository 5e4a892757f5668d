// Launches of CodedResult (ops/coded_result.h) by tiles. Values are bf16.
#pragma once
#include "exec/cuda/kernels/quantize/quantize.h"
#include "exec/cuda/kernels/swiglu.h"
#include "exec/cuda_needs/coded_tiles.h"

namespace megalith::cuda {

struct CodedLaunch {
  CodedTiles tiles;
  GateKind act;  // of SwiGLU
  ScaleRuleOfBox rule;
};
// The inputs of what computes the values. x: the values, if no op does.
struct SourcePointers {
  const void *x, *dy = nullptr;
  const void* w = nullptr;      // of a norm
  const float* rstd = nullptr;  // of each token
};

// One scale for all values, kept. Computes the amax of the values too.
void launch_coded_tensor(const CodedLaunch& l, const SourcePointers& source, const CastPointers& p,
                         cudaStream_t stream);
// Scales of boxes. features, tokens: the two casts; without codes: not wanted.
void launch_coded_boxes(const CodedLaunch& l, const SourcePointers& source, const CastPointers& features,
                        const CastPointers& tokens, cudaStream_t stream);

}  // namespace megalith::cuda
