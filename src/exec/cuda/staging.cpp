#include "exec/cuda/staging.h"

#include <algorithm>
#include <cstring>

namespace megalith::cuda {

Staging::Staging(cudaStream_t stream) : stream_(stream) {
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), size_t(kSlots * kSlotBytes), cudaHostAllocDefault),
             "allocating pinned memory");
  for (cudaEvent_t& e : done_) check_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "making an event");
}

Staging::~Staging() {
  cudaStreamSynchronize(stream_);
  for (cudaEvent_t e : done_) cudaEventDestroy(e);
  cudaFreeHost(pinned_);
}

void Staging::write(std::byte* device, const void* host, i64 bytes) {
  const std::byte* from = static_cast<const std::byte*>(host);
  for (i64 at = 0; at < bytes; at += kSlotBytes) {
    const i64 part = std::min(kSlotBytes, bytes - at), slot = next_++ % kSlots;
    std::byte* through = pinned_ + slot * kSlotBytes;
    check_cuda(cudaEventSynchronize(done_[slot]), "writing to the GPU");
    std::memcpy(through, from + at, size_t(part));
    check_cuda(cudaMemcpyAsync(device + at, through, size_t(part), cudaMemcpyHostToDevice, stream_),
               "writing to the GPU");
    check_cuda(cudaEventRecord(done_[slot], stream_), "writing to the GPU");
  }
}

// Two slots in turn: one is copied out while the other fills.
void Staging::read(void* host, const std::byte* device, i64 bytes) {
  std::byte* to = static_cast<std::byte*>(host);
  i64 asked = 0, taken = 0;
  const i64 first = next_;
  const auto ask = [&] {
    const i64 slot = next_++ % kSlots, part = std::min(kSlotBytes, bytes - asked);
    check_cuda(cudaEventSynchronize(done_[slot]), "reading from the GPU");
    check_cuda(
        cudaMemcpyAsync(pinned_ + slot * kSlotBytes, device + asked, size_t(part), cudaMemcpyDeviceToHost, stream_),
        "reading from the GPU");
    check_cuda(cudaEventRecord(done_[slot], stream_), "reading from the GPU");
    asked += part;
  };
  while (taken < bytes) {
    while (asked < bytes && asked - taken < 4 * kSlotBytes) ask();
    const i64 slot = (first + taken / kSlotBytes) % kSlots, part = std::min(kSlotBytes, bytes - taken);
    check_cuda(cudaEventSynchronize(done_[slot]), "reading from the GPU");
    std::memcpy(to + taken, pinned_ + slot * kSlotBytes, size_t(part));
    taken += part;
  }
}

}  // namespace megalith::cuda
