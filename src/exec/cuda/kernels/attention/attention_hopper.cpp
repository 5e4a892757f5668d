// The copy engine's maps of attention's tensors.
#include "exec/cuda/kernels/attention/attention_hopper.h"

#include <cudaTypedefs.h>

namespace megalith::cuda {

namespace {

// The driver's function, found at run time: nothing links with the driver.
PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  static const auto found = [] {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &result),
               "[attention_grad] asking the driver for cuTensorMapEncodeTiled");
    check(result == cudaDriverEntryPointSuccess && f, "[attention_grad] the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(f);
  }();
  return found;
}

// `heads` heads of each sample, of the `row_heads` that a sample's row of the tensor has, at `positions` positions.
CUtensorMap map_of(const AttentionSizes& z, const void* from, int positions, i64 heads, i64 row_heads) {
  const cuuint64_t columns = cuuint64_t((i64(z.b - 1) * row_heads + heads) * z.d);
  const cuuint64_t sizes[] = {columns, cuuint64_t(positions)}, strides[] = {cuuint64_t(i64(z.b) * row_heads * z.d * 2)};
  const cuuint32_t box[] = {64, 64}, steps[] = {1, 1};
  CUtensorMap map;
  const CUresult status = encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(from), sizes, strides,
                                    box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(status == CUDA_SUCCESS, "[attention_grad] cuTensorMapEncodeTiled of {} x {}: error {}", positions, columns,
        int(status));
  return map;
}

}  // namespace

HopperGradMaps hopper_grad_maps(const AttentionSizes& z, const AttentionGradBuffers& x) {
  const i64 heads = i64(z.g) * z.r;
  return {map_of(z, x.q, z.s, heads, z.query_heads), map_of(z, x.dout, z.s, heads, heads),
          map_of(z, x.k, z.t, z.g, z.key_heads), map_of(z, x.v, z.t, z.g, z.key_heads)};
}

}  // namespace megalith::cuda
