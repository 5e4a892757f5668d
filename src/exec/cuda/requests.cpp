#include "exec/cuda/requests.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "exec/cuda/tell.h"

namespace megalith::cuda {

Requests::Requests(cudaStream_t stream) : stream_(stream) {
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), size_t(kSlots * kSlotBytes), cudaHostAllocDefault),
             "allocating pinned memory");
  for (cudaEvent_t& e : done_) check_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "making an event");
}

Requests::~Requests() {
  cudaStreamSynchronize(stream_);
  for (cudaEvent_t e : done_) cudaEventDestroy(e);
  cudaFreeHost(pinned_);
}

int Requests::ask(const std::byte* device, i64 bytes) {
  check(bytes > 0 && bytes <= kSlotBytes && bytes % 8 == 0,
        "a result of {} bytes: numbers of 8 are read back by request, at most {}", bytes, kSlotBytes / 8);
  const int slot = int(std::find(bytes_, bytes_ + kSlots, i64{0}) - bytes_);
  check(slot < kSlots, "more than {} results are requested and not taken", kSlots);
  launch_tell(reinterpret_cast<const double*>(device), pinned_ + slot * kSlotBytes / 8, bytes / 8, stream_);
  const auto note = [](void* at) { *static_cast<double*>(at) = steady_seconds(); };
  check_cuda(cudaLaunchHostFunc(stream_, note, &arrived_[slot]), "reading back a result");
  check_cuda(cudaEventRecord(done_[slot], stream_), "reading back a result");
  bytes_[slot] = bytes;
  return slot;
}

bool Requests::ready(int ticket) {
  const cudaError_t status = cudaEventQuery(done_[ticket]);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // no error, but the next launch's check would find it
    return false;
  }
  check_cuda(status, "the step");
  return true;
}

std::span<const double> Requests::place(int ticket) const {
  return {pinned_ + ticket * kSlotBytes / 8, size_t(bytes_[ticket]) / 8};
}

double Requests::arrived(int ticket) {
  check_cuda(cudaEventSynchronize(done_[ticket]), "the step");
  return arrived_[ticket];
}

std::vector<double> Requests::take(int ticket) {
  check_cuda(cudaEventSynchronize(done_[ticket]), "the step");
  const auto values = place(ticket);
  bytes_[ticket] = 0;
  return {values.begin(), values.end()};
}

}  // namespace megalith::cuda
