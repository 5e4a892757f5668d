#include "exec/cuda/staging.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "base/threads.h"

namespace megalith::cuda {

Staging::Staging(cudaStream_t stream) : stream_(stream) {
  check_cuda(cudaGetDevice(&device_), "making a ring of pinned memory");
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), size_t(kBytes), cudaHostAllocDefault),
             "allocating pinned memory");
  for (cudaEvent_t& e : done_) check_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "making an event");
}

Staging::~Staging() {
  cudaStreamSynchronize(stream_);
  for (cudaEvent_t e : done_) cudaEventDestroy(e);
  cudaFreeHost(pinned_);
}

void Staging::choose_device() const { check_cuda(cudaSetDevice(device_), "copying to or from the GPU"); }

Staging::Room Staging::take_room(std::unique_lock<std::mutex>& turn, i64 bytes) {
  constexpr i64 kApart = 256;
  check(bytes <= kSlotBytes, "{} bytes to be staged at once: at most {}", bytes, kSlotBytes);
  while (used_ + bytes > kSlotBytes) {
    const i64 next = (slot_ + 1) % kSlots;
    if (filling_[next] > 0) {
      filled_.wait(turn);
      continue;  // another thread may have advanced to it
    }
    slot_ = next, used_ = 0;
    check_cuda(cudaEventSynchronize(done_[slot_]), "waiting for pinned memory");
  }
  std::byte* at = pinned_ + slot_ * kSlotBytes + used_;
  used_ += (bytes + kApart - 1) / kApart * kApart;
  return {at, slot_};
}

std::byte* Staging::room(i64 bytes) {
  std::unique_lock turn(turn_);
  return take_room(turn, bytes).at;
}

void Staging::copied(i64 slot) { check_cuda(cudaEventRecord(done_[slot], stream_), "copying to or from the GPU"); }

static void copy_bytes(std::byte* to, const std::byte* from, i64 bytes) {
  parallel_ranges(bytes, i64{1} << 20,
                  [&](i64 begin, i64 end) { std::memcpy(to + begin, from + begin, size_t(end - begin)); });
}

// Threads copy into pinned memory concurrently. Only the enqueueing is serialized.
void Staging::write(std::byte* device, const void* host, i64 bytes) {
  choose_device();
  const std::byte* from = static_cast<const std::byte*>(host);
  for (i64 at = 0; at < bytes; at += kSlotBytes) {
    const i64 part = std::min(kSlotBytes, bytes - at);
    std::unique_lock turn(turn_);
    const Room through = take_room(turn, part);
    ++filling_[through.slot];
    turn.unlock();
    copy_bytes(through.at, from + at, part);
    turn.lock();
    const cudaError_t status = cudaMemcpyAsync(device + at, through.at, size_t(part), cudaMemcpyHostToDevice, stream_);
    --filling_[through.slot];
    filled_.notify_all();
    check_cuda(status, "writing to the GPU");
    copied(through.slot);
  }
}

namespace {

struct Later {
  Staging::Fill fill;
  std::byte* to;
};

void CUDART_CB fill_now(void* later) {
  const std::unique_ptr<Later> it(static_cast<Later*>(later));
  it->fill(it->to);
}

}  // namespace

void Staging::write_later(std::byte* device, i64 bytes, Fill fill) {
  std::byte* through = room(bytes);
  auto later = std::make_unique<Later>(Later{std::move(fill), through});
  check_cuda(cudaLaunchHostFunc(stream_, fill_now, later.get()), "writing to the GPU");
  later.release();  // fill_now deletes it
  check_cuda(cudaMemcpyAsync(device, through, size_t(bytes), cudaMemcpyHostToDevice, stream_), "writing to the GPU");
  copied(slot_);
}

// Several parts are in transfer: one is copied out while others fill.
void Staging::read(void* host, const std::byte* device, i64 bytes) {
  choose_device();
  constexpr size_t kAhead = 4;
  struct Part {
    i64 at, bytes, slot;
    std::byte* through;
  };
  std::deque<Part> parts;
  std::byte* to = static_cast<std::byte*>(host);
  for (i64 asked = 0; asked < bytes || !parts.empty();) {
    if (asked < bytes && parts.size() < kAhead) {
      const i64 part = std::min(kSlotBytes, bytes - asked);
      std::byte* through = room(part);
      check_cuda(cudaMemcpyAsync(through, device + asked, size_t(part), cudaMemcpyDeviceToHost, stream_),
                 "reading from the GPU");
      copied(slot_);
      parts.push_back({asked, part, slot_, through});
      asked += part;
      continue;
    }
    const Part& first = parts.front();
    check_cuda(cudaEventSynchronize(done_[first.slot]), "reading from the GPU");
    copy_bytes(to + first.at, first.through, first.bytes);
    parts.pop_front();
  }
}

}  // namespace megalith::cuda
