// Matrices as cuBLASLt sees them.
#pragma once
#include <cublasLt.h>

#include "exec/cuda_needs/gemm_problem.h"

namespace megalith::cuda {

// A matrix as the library sees it: column-major, so it is the transpose; or transposed again on reading.
struct View {
  i64 rows = 0, cols = 0, ld = 0;
  cublasOperation_t op = CUBLAS_OP_N;
};
inline View transposed(const Matrix& m, i64 rows, i64 cols) {
  if (m.col == 1) return {cols, rows, m.row, CUBLAS_OP_N};
  if (m.row == 1) return {rows, cols, m.col, CUBLAS_OP_T};
  return {rows, cols, 0, CUBLAS_OP_N};
}

inline cudaDataType type_of(DType t) {
  if (t == DType::f8_e4m3) return CUDA_R_8F_E4M3;
  if (t == DType::f8_e5m2) return CUDA_R_8F_E5M2;
  if (t == DType::f16) return CUDA_R_16F;
  return t == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
}

inline cublasLtMatmulMatrixScale_t mode_of(CodeScales s) {
  return s == CodeScales::one    ? CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F
         : s == CodeScales::rows ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
                                 : CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}

struct LibraryLayout {
  cublasLtMatrixLayout_t it = nullptr;
  ~LibraryLayout() {
    if (it) cublasLtMatrixLayoutDestroy(it);
  }
  cublasStatus_t make(DType t, const View& v, i64 batch, i64 stride) {
    cublasStatus_t status = cublasLtMatrixLayoutCreate(&it, type_of(t), u64(v.rows), u64(v.cols), v.ld);
    const i32 count = i32(batch);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = cublasLtMatrixLayoutSetAttribute(it, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    if (status == CUBLAS_STATUS_SUCCESS)
      status =
          cublasLtMatrixLayoutSetAttribute(it, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
    return status;
  }
};

struct LibraryPreference {
  cublasLtMatmulPreference_t it = nullptr;
  ~LibraryPreference() {
    if (it) cublasLtMatmulPreferenceDestroy(it);
  }
};

}  // namespace megalith::cuda
