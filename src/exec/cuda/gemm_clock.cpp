#include "exec/cuda/gemm_clock.h"

#include <algorithm>
#include <cstring>

namespace megalith::cuda {

CycleCounter::CycleCounter(int sms, cudaStream_t stream) : sms_(sms), stream_(stream) {
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&readings_), 2 * sizeof(Reading), cudaHostAllocDefault),
             "allocating pinned memory");
}
CycleCounter::~CycleCounter() { cudaFreeHost(readings_); }

void CycleCounter::read(Reading* into) { read_clocks(into->cycles, kMostSms, &into->ns, sms_, stream_); }

void CycleCounter::begin() {
  check_cuda(cudaStreamSynchronize(stream_), "measuring products");
  std::memset(readings_, 0, 2 * sizeof(Reading));
  read(&readings_[0]);
}

Sample CycleCounter::end() {
  read(&readings_[1]);
  check_cuda(cudaStreamSynchronize(stream_), "measuring products");
  const Reading &a = readings_[0], &b = readings_[1];
  std::vector<double> cycles;  // multiprocessors start and end at slightly different times: the median
  for (int sm = 0; sm < kMostSms; ++sm)
    if (a.cycles[sm] && b.cycles[sm]) cycles.push_back(double(b.cycles[sm] - a.cycles[sm]));
  check(!cycles.empty() && b.ns > a.ns, "measuring products: the GPU's clocks can't be read");
  std::nth_element(cycles.begin(), cycles.begin() + i64(cycles.size() / 2), cycles.end());
  const double median = cycles[cycles.size() / 2];
  return {median, median / double(b.ns - a.ns) * 1e3};
}

}  // namespace megalith::cuda
