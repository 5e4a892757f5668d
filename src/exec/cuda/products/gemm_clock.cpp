#include "exec/cuda/products/gemm_clock.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace megalith::cuda {

static constexpr std::string_view kWhat = "measuring products (--gemm-cache-file none: without)";

CycleCounter::CycleCounter(int sms, cudaStream_t stream) : sms_(sms), stream_(stream) {
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&cycles_), 2 * kMostSms * sizeof(u64), cudaHostAllocDefault),
             kWhat);
  for (cudaEvent_t& e : events_) check_cuda(cudaEventCreate(&e), kWhat);
}

CycleCounter::~CycleCounter() {
  for (cudaEvent_t e : events_) cudaEventDestroy(e);
  cudaFreeHost(cycles_);
}

void CycleCounter::begin() {
  check_cuda(cudaStreamSynchronize(stream_), kWhat);
  std::memset(cycles_, 0, 2 * kMostSms * sizeof(u64));
  read_clocks(cycles_, kMostSms, sms_, stream_);
  check_cuda(cudaEventRecord(events_[0], stream_), kWhat);
}

Sample CycleCounter::end() {
  check_cuda(cudaEventRecord(events_[1], stream_), kWhat);
  read_clocks(cycles_ + kMostSms, kMostSms, sms_, stream_);
  check_cuda(cudaStreamSynchronize(stream_), kWhat);
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, events_[0], events_[1]), kWhat);
  std::vector<double> cycles;  // the median, because multiprocessors start and end at slightly different times
  for (int sm = 0; sm < kMostSms; ++sm)
    if (cycles_[sm] && cycles_[kMostSms + sm]) cycles.push_back(double(cycles_[kMostSms + sm] - cycles_[sm]));
  check(!cycles.empty() && ms > 0, "{}: the GPU's clocks can't be read", kWhat);
  const auto middle = cycles.begin() + i64(cycles.size() / 2);
  std::nth_element(cycles.begin(), middle, cycles.end());
  return {*middle, *middle / double(ms) / 1e3};
}

}  // namespace megalith::cuda
