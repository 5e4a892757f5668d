#include "exec/cuda/requests.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "exec/cuda/store_scalars.h"

namespace megalith::cuda {

Requests::Requests(cudaStream_t stream) : stream_(stream) {
  for (Slot& s : slots_) check_cuda(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming), "making an event");
}

Requests::~Requests() {
  cudaStreamSynchronize(stream_);
  for (Slot& s : slots_) cudaEventDestroy(s.done);
  for (double* p : pinned_) cudaFreeHost(p);
}

void Requests::make_room(Slot& slot, i64 bytes) {
  if (bytes <= slot.room) return;
  constexpr i64 kLeast = 4096;
  slot.room = std::max(bytes, kLeast);
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&slot.pinned), size_t(slot.room), cudaHostAllocDefault),
             "allocating pinned memory");
  pinned_.push_back(slot.pinned);
}

int Requests::ask(const std::byte* device, i64 bytes) {
  check(bytes > 0 && bytes % 8 == 0, "a result of {} bytes: numbers of 8 are read back by request", bytes);
  Slot* slot = std::ranges::find(slots_, i64{0}, &Slot::bytes);
  check(slot != std::end(slots_), "more than {} results are requested and not taken", kSlots);
  make_room(*slot, bytes);
  launch_store_scalars(reinterpret_cast<const double*>(device), slot->pinned, bytes / 8, stream_);
  const auto note = [](void* at) { *static_cast<double*>(at) = steady_seconds(); };
  check_cuda(cudaLaunchHostFunc(stream_, note, &slot->arrived), "reading back a result");
  check_cuda(cudaEventRecord(slot->done, stream_), "reading back a result");
  slot->bytes = bytes;
  return int(slot - slots_);
}

bool Requests::ready(int ticket) {
  const cudaError_t status = cudaEventQuery(slots_[ticket].done);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // clears "not ready", which the next launch's check would find
    return false;
  }
  check_cuda(status, "the step");
  return true;
}

std::span<const double> Requests::place(int ticket) const {
  return {slots_[ticket].pinned, size_t(slots_[ticket].bytes) / 8};
}

double Requests::arrived(int ticket) {
  check_cuda(cudaEventSynchronize(slots_[ticket].done), "the step");
  return slots_[ticket].arrived;
}

std::vector<double> Requests::take(int ticket) {
  check_cuda(cudaEventSynchronize(slots_[ticket].done), "the step");
  const auto values = place(ticket);
  slots_[ticket].bytes = 0;
  return {values.begin(), values.end()};
}

}  // namespace megalith::cuda
