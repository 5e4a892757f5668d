// Launches of CodedResult (ops/coded_result.h) by tiles. Values are bf16.
#pragma once
#include "exec/cuda/kernels/quantize/quantize.h"
#include "exec/cuda/kernels/swiglu.h"
#include "exec/cuda_needs/coded_tiles.h"

namespace megalith::cuda {

// What makes the values: nothing, as they are x; y = act(gate) up of x; the gradient of x by dy; or RMSNorm of x.
enum class ValuesBy : u8 { none, gated, gated_grad, normed };
struct ValuesSource {
  ValuesBy by;
  GateKind act;
};
struct SourcePointers {
  const void *x, *dy = nullptr;
  const void* w = nullptr;      // of a norm
  const float* rstd = nullptr;  // of each token
};

struct CodedLaunch {
  ValuesSource source;
  CodedTiles tiles;
  ScaleRuleOfBox rule;
};
// One scale for all values, kept. Computes the amax of the values too.
void launch_coded_tensor(const CodedLaunch& l, const SourcePointers& source, const CastPointers& p,
                         cudaStream_t stream);
// Scales of boxes. features, tokens: the two casts; without codes: not wanted.
void launch_coded_boxes(const CodedLaunch& l, const SourcePointers& source, const CastPointers& features,
                        const CastPointers& tokens, cudaStream_t stream);

}  // namespace megalith::cuda
