#include "exec/cuda/hopper/tensor_map.h"

#include <cudaTypedefs.h>

#include <algorithm>

#include "exec/cuda/device.h"

namespace megalith::cuda::hopper {

namespace {

// The driver's function, found at run time: nothing links with the driver.
PFN_cuTensorMapEncodeTiled_v12000 encoder(std::string_view who) {
  static const auto found = [&] {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &result),
               fmt::format("[{}] asking the driver for cuTensorMapEncodeTiled", who));
    check(result == cudaDriverEntryPointSuccess && f, "[{}] the driver has no cuTensorMapEncodeTiled", who);
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(f);
  }();
  return found;
}

}  // namespace

CUtensorMap tensor_map(std::string_view who, const void* at, DType dtype, std::span<const i64> sizes,
                       std::span<const i64> strides, int rows) {
  const CUtensorMapDataType type = dtype == DType::f32   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                   : size_of(dtype) == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                                         : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  cuuint64_t size[3], stride[3];
  std::copy(sizes.begin(), sizes.end(), size);
  std::copy(strides.begin(), strides.end(), stride);
  const cuuint32_t box[] = {cuuint32_t(128 / size_of(dtype)), cuuint32_t(rows), 1}, steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status = encoder(who)(&map, type, cuuint32_t(sizes.size()), const_cast<void*>(at), size, stride, box,
                                       steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                       CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(status == CUDA_SUCCESS, "[{}] cuTensorMapEncodeTiled of {} x {}: error {}", who, sizes[1], sizes[0],
        int(status));
  return map;
}

}  // namespace megalith::cuda::hopper
