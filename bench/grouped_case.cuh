// Operands of grouped-bench: random rows, sorted by expert, and experts' matrices. Rows without an expert are NaN.
#pragma once
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "exec/cuda/products/grouped_hopper.h"

namespace megalith::cuda {
namespace {

using Bf16 = __nv_bfloat16;

template <class T>
class Memory {
 public:
  explicit Memory(i64 n) : n_(n) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&at_), size_t(n) * sizeof(T)), "memory");
  }
  ~Memory() { cudaFree(at_); }
  Memory(const Memory&) = delete;
  T* at() const { return at_; }
  i64 n() const { return n_; }
  void poison() const { check_cuda(cudaMemset(at_, 0xff, size_t(n_) * sizeof(T)), "poison"); }  // NaN

 private:
  T* at_ = nullptr;
  i64 n_;
};

__device__ float normal_at(i64 i, unsigned seed) {
  unsigned long long h = (i + 0x9E3779B97F4A7C15ull * (seed + 1)) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
  h ^= h >> 31;
  const float u = (float(unsigned(h >> 32)) + 1) * 0x1p-32f, v = float(unsigned(h)) * 0x1p-32f;
  return sqrtf(-2 * logf(fminf(u, 1.f))) * cosf(6.2831853f * v);
}
template <class T>
__global__ void fill_kernel(T* x, i64 n, unsigned seed) {
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += i64(gridDim.x) * blockDim.x)
    x[i] = T(normal_at(i, seed));
}
template <class T>
void fill(const Memory<T>& x, i64 n, unsigned seed) {
  fill_kernel<<<2048, 256>>>(x.at(), n, seed);
  check_launch("fill");
}

int sms() {
  int count = 0;
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "the GPU");
  return count;
}

// w [experts, n, k]; `rows`: number of rows in the buffer.
struct GroupedSizes {
  int rows, experts, n, k;
};

enum class Kind { forward, data_grad, weight_grad };
constexpr const char* kNames[] = {"forward", "data grad", "weight grad"};

std::vector<int> routing(const std::string& how, int experts, int rows, unsigned seed) {
  std::vector<i64> count(size_t(experts), 0);
  srand(seed);
  if (how == "worst") {
    count[size_t(experts / 2)] = rows;
  } else if (how == "even") {
    for (auto& c : count) c = rows / experts;
  } else if (how == "gaps") {  // none, one row, and whole tiles among the others
    for (int e = 0; e < experts; ++e)
      count[size_t(e)] = e % 4 == 0 ? 0 : e % 4 == 1 ? 1 : e % 4 == 2 ? 128 : rows / experts;
  } else {
    const bool skewed = how == "skewed";
    int left = rows;
    if (skewed) count[0] = std::min<i64>(4ll * rows / experts, rows), left -= int(count[0]);
    for (int i = 0; i < left; ++i)
      ++count[size_t(skewed && experts > 1 ? 1 + rand() % (experts - 1) : rand() % experts)];
  }
  std::vector<int> ends;
  i64 end = 0;
  for (i64 c : count) ends.push_back(int(end += c));
  return ends;
}

// One shape's buffers: a and b of rows, of n and k columns; w; results.
struct Case {
  GroupedSizes z;
  Memory<Bf16> n_rows, k_rows, w;
  Memory<int> ends, ticket;
  int used = 0;

  explicit Case(const GroupedSizes& sizes)
      : z(sizes),
        n_rows(i64(z.rows) * z.n),
        k_rows(i64(z.rows) * z.k),
        w(i64(z.experts) * z.n * z.k),
        ends(z.experts),
        ticket(1) {
    fill(w, w.n(), 3);
  }
  void route(const std::string& how, int rows) {
    const std::vector<int> e = routing(how, z.experts, rows, 5);
    used = e.back();
    check_cuda(cudaMemcpy(ends.at(), e.data(), e.size() * 4, cudaMemcpyHostToDevice), "ends");
    n_rows.poison(), k_rows.poison();
    fill(n_rows, i64(used) * z.n, 1), fill(k_rows, i64(used) * z.k, 2);
  }
  void run(Kind kind, void* out, bool add, cudaStream_t stream = nullptr) const {
    const bool sums = kind == Kind::weight_grad, transposed = kind == Kind::data_grad;
    const GroupedLaunch l{DType::bf16,
                          sums ? DType::f32 : DType::bf16,
                          sums,
                          transposed,
                          z.experts,
                          z.rows,
                          transposed ? z.k : z.n,
                          transposed ? z.n : z.k};
    const Bf16 *a = kind == Kind::forward ? k_rows.at() : n_rows.at(), *b = sums ? k_rows.at() : w.at();
    launch_hopper(l, {a, b, ends.at(), out, add}, ticket.at(), sms(), stream);
  }
  i64 numbers(Kind kind) const {
    return kind == Kind::weight_grad ? w.n() : i64(z.rows) * (kind == Kind::forward ? z.n : z.k);
  }
};

}  // namespace
}  // namespace megalith::cuda
