// Timing, and cuBLASLt's products of the same flops.
#pragma once
#include <cublasLt.h>

#include <cstdio>
#include <functional>

#include "grouped_case.cuh"

namespace megalith::cuda {
namespace {

// Median milliseconds of each function. They run in turns, `rounds` times, so that all have the same clock.
std::vector<float> medians_ms(const std::vector<std::function<void()>>& each, int rounds, int runs) {
  cudaEvent_t from, to;
  check_cuda(cudaEventCreate(&from), "event"), check_cuda(cudaEventCreate(&to), "event");
  std::vector<std::vector<float>> ms(each.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < each.size(); ++i) {
      each[i]();
      cudaEventRecord(from);
      for (int run = 0; run < runs; ++run) each[i]();
      cudaEventRecord(to);
      check_cuda(cudaEventSynchronize(to), "timing");
      float took = 0;
      cudaEventElapsedTime(&took, from, to);
      ms[i].push_back(took / float(runs));
    }
  cudaEventDestroy(from), cudaEventDestroy(to);
  std::vector<float> result;
  for (auto& m : ms) std::sort(m.begin(), m.end()), result.push_back(m[m.size() / 2]);
  return result;
}

// The fastest of several cuBLASLt algorithms: column-major c (m x n) = op(a) op(b), `batch` of them, contiguous.
class Dense {
 public:
  Dense() : work_(64 << 20) { cublasLtCreate(&lt_); }
  std::function<void()> of(bool ta, bool tb, i64 m, i64 n, i64 k, const void* a, const void* b, void* c, bool wide,
                           float beta, int batch) {
    cublasLtMatmulDesc_t op;
    cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const cublasOperation_t oa = ta ? CUBLAS_OP_T : CUBLAS_OP_N, ob = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &oa, sizeof oa);
    cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSB, &ob, sizeof ob);
    const auto layout = [&](cudaDataType_t t, i64 rows, i64 columns) {
      cublasLtMatrixLayout_t x;
      cublasLtMatrixLayoutCreate(&x, t, u64(rows), u64(columns), rows);
      const i64 stride = rows * columns;
      cublasLtMatrixLayoutSetAttribute(x, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
      cublasLtMatrixLayoutSetAttribute(x, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
      return x;
    };
    const auto la = ta ? layout(CUDA_R_16BF, k, m) : layout(CUDA_R_16BF, m, k);
    const auto lb = tb ? layout(CUDA_R_16BF, n, k) : layout(CUDA_R_16BF, k, n);
    const auto lc = layout(wide ? CUDA_R_32F : CUDA_R_16BF, m, n);
    cublasLtMatmulPreference_t wish;
    cublasLtMatmulPreferenceCreate(&wish);
    const size_t room = size_t(work_.n());
    cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room);
    cublasLtMatmulHeuristicResult_t found[4];
    int count = 0;
    cublasLtMatmulAlgoGetHeuristic(lt_, op, la, lb, lc, lc, wish, 4, found, &count);
    std::vector<std::function<void()>> ways;
    for (int i = 0; i < count; ++i)
      ways.push_back([=, this, algo = found[i].algo] {
        const float one = 1;
        if (cublasLtMatmul(lt_, op, &one, a, la, b, lb, &beta, c, lc, c, lc, &algo, work_.at(), room, nullptr) !=
            CUBLAS_STATUS_SUCCESS)
          printf("cuBLASLt failed\n");
      });
    const std::vector<float> ms = medians_ms(ways, 2, 2);
    return ways[size_t(std::min_element(ms.begin(), ms.end()) - ms.begin())];
  }
  std::function<void()> of(const Case& c, Kind kind, void* out, bool add, int batch) {
    const i64 r = c.z.rows / batch, n = c.z.n, k = c.z.k;
    if (kind == Kind::forward) return of(true, false, n, r, k, c.w.at(), c.k_rows.at(), out, false, 0, batch);
    if (kind == Kind::data_grad) return of(false, false, k, r, n, c.w.at(), c.n_rows.at(), out, false, 0, batch);
    return of(false, true, k, n, r, c.k_rows.at(), c.n_rows.at(), out, true, float(add), batch);
  }

 private:
  cublasLtHandle_t lt_;
  Memory<char> work_;
};

}  // namespace
}  // namespace megalith::cuda
