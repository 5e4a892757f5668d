#include "exec/cuda/products/gemm_rows.h"

#include <algorithm>
#include <cmath>

namespace megalith::cuda {

static constexpr std::string_view kWhat = "comparing products";
static constexpr i64 kRows = 64;

void cover(std::byte* y, const GemmSpec& spec, int byte, cudaStream_t stream) {
  const i64 bytes = size_of(spec.c.dtype);
  check_cuda(cudaMemset2DAsync(y, size_t(spec.c.row * bytes), byte, size_t(spec.n * bytes), size_t(spec.m), stream),
             kWhat);
}

std::vector<float> some_rows(const std::byte* y, const GemmSpec& spec, cudaStream_t stream) {
  const i64 bytes = size_of(spec.c.dtype), step = std::max<i64>(1, (spec.m - 1) / (kRows - 1));
  const i64 rows = (spec.m - 1) / step + 1;
  std::vector<std::byte> raw(size_t(rows * spec.n * bytes));
  check_cuda(cudaMemcpy2DAsync(raw.data(), size_t(spec.n * bytes), y, size_t(step * spec.c.row * bytes),
                               size_t(spec.n * bytes), size_t(rows), cudaMemcpyDeviceToHost, stream),
             kWhat);
  check_cuda(cudaStreamSynchronize(stream), kWhat);
  std::vector<float> numbers(size_t(rows * spec.n));
  if (spec.c.dtype == DType::bf16)
    std::copy_n(reinterpret_cast<const bf16*>(raw.data()), numbers.size(), numbers.begin());
  else if (spec.c.dtype == DType::f16)
    std::copy_n(reinterpret_cast<const f16*>(raw.data()), numbers.size(), numbers.begin());
  else
    std::copy_n(reinterpret_cast<const float*>(raw.data()), numbers.size(), numbers.begin());
  return numbers;
}

bool alike(const std::vector<float>& a, const std::vector<float>& b, DType dtype) {
  float largest = 0;
  for (float x : a) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : NAN;
  // A bf16 y is rounded by up to 1/256 in both results, an f16 y by 1/2048; f32 sums of 1e5 terms differ by about 1e-5.
  const float limit = largest * (dtype == DType::bf16 ? 1.0f / 64 : dtype == DType::f16 ? 1.0f / 512 : 1.0f / 1024);
  return std::ranges::equal(a, b, [&](float x, float y) { return std::abs(x - y) <= limit; });
}

}  // namespace megalith::cuda
