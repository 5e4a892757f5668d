// The copy engine's maps of attention's tensors.
#include "exec/cuda/kernels/attention/attention_hopper.h"

#include "exec/cuda/hopper/tensor_map.h"

namespace megalith::cuda {

namespace {

// `heads` heads of each sample, of the `row_heads` that a sample's row of the tensor has, at `positions` positions.
CUtensorMap map_of(const AttentionSizes& z, const void* from, int positions, i64 heads, i64 row_heads) {
  const i64 sizes[] = {(i64(z.b - 1) * row_heads + heads) * z.d, positions},
            strides[] = {i64(z.b) * row_heads * z.d * 2};
  return hopper::tensor_map("attention_grad", from, DType::bf16, sizes, strides, 64);
}

}  // namespace

HopperGradMaps hopper_grad_maps(const AttentionSizes& z, const AttentionGradBuffers& x) {
  const i64 heads = i64(z.g) * z.r;
  return {map_of(z, x.q, z.s, heads, z.query_heads), map_of(z, x.dout, z.s, heads, heads),
          map_of(z, x.k, z.t, z.g, z.key_heads), map_of(z, x.v, z.t, z.g, z.key_heads)};
}

}  // namespace megalith::cuda
