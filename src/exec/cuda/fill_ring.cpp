#include "exec/cuda/fill_ring.h"

#include <exception>

#include "base/check.h"

namespace megalith::cuda {

FillRing::FillRing(cudaStream_t stream) : stream_(stream) {
  check_cuda(cudaGetDevice(&device_), "making a ring of pinned memory");
}

FillRing::~FillRing() {
  cudaStreamSynchronize(stream_);
  for (cudaEvent_t e : done_)
    if (e) cudaEventDestroy(e);
  cudaFreeHost(pinned_);
}

// The memory is allocated at the first write, because only a run that resumes from a snapshot needs it.
void FillRing::allocate_once() {
  if (pinned_) return;
  for (cudaEvent_t& e : done_)
    if (!e) check_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "making an event");
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), size_t(kBytes), cudaHostAllocDefault),
             "allocating pinned memory");
  for (int i = 0; i < kRooms; ++i) rooms_.push_back(i);
}

void FillRing::allocate() {
  const std::lock_guard turn(turn_);
  allocate_once();
}

int FillRing::take_room() {
  std::unique_lock turn(turn_);
  allocate_once();
  freed_.wait(turn, [this] { return !rooms_.empty(); });
  const int room = rooms_.front();
  rooms_.pop_front();
  return room;
}

void FillRing::give_back(int room, bool is_last) {
  is_last ? rooms_.push_back(room) : rooms_.push_front(room);
  freed_.notify_one();
}

void FillRing::enqueue(const Filled& filled) {
  check_cuda(cudaMemcpyAsync(filled.device, at(filled.room), size_t(filled.bytes), cudaMemcpyHostToDevice, stream_),
             "writing to the GPU");
  check_cuda(cudaEventRecord(done_[filled.room], stream_), "writing to the GPU");
}

// Threads fill concurrently. One of them enqueues for all. If threads took turns, each would have to wake up the next
// one, which takes longer than a copy.
void FillRing::write(std::byte* device, i64 bytes, const FilledWrites::Put& put) {
  check(bytes <= kRoomBytes, "{} bytes to be filled at once: at most {}", bytes, kRoomBytes);
  check_cuda(cudaSetDevice(device_), "writing to the GPU");  // a new thread begins with device 0
  const int room = take_room();
  try {
    check_cuda(cudaEventSynchronize(done_[room]), "waiting for pinned memory");
    put(at(room));
  } catch (...) {
    const std::lock_guard turn(turn_);
    give_back(room, false);
    throw;
  }
  std::unique_lock turn(turn_);
  filled_.push_back({room, device, bytes});
  if (is_enqueuing_) return;
  is_enqueuing_ = true;
  std::exception_ptr error;
  while (!filled_.empty()) {
    const Filled next = filled_.front();
    filled_.pop_front();
    turn.unlock();
    try {
      enqueue(next);
    } catch (...) {
      error = std::current_exception();
    }
    turn.lock();
    give_back(next.room, true);
  }
  is_enqueuing_ = false;
  if (error) std::rethrow_exception(error);
}

}  // namespace megalith::cuda
