#include "exec/cuda/pinned_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/in_parallel.h"
#include "exec/cuda/device.h"

namespace megalith::cuda {

PinnedMap::PinnedMap(i64 bytes, int device) : bytes_(bytes), device_(device) {
  void* p = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(p != MAP_FAILED, "cannot have {} bytes of the host's memory for copies of the state: {}", bytes,
        std::strerror(errno));
  memory_ = static_cast<std::byte*>(p);
  madvise(p, size_t(bytes), MADV_HUGEPAGE);  // fewer pages to pin, if the system supports huge pages
  work_ = std::async(std::launch::async, [this] { pin(); });
}

PinnedMap::~PinnedMap() {
  is_over_ = true;
  if (work_.valid()) work_.wait();
  for (i64 at = 0; at < pinned_; at += kPiece) cudaHostUnregister(memory_ + at);
  munmap(memory_, size_t(bytes_));
}

void PinnedMap::wait() {
  if (work_.valid()) work_.get();
  check(pinned_ == bytes_, "the host has not pinned {} bytes for copies of the state", bytes_);
}

bool PinnedMap::is_ready(double seconds) const {
  return !work_.valid() || work_.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
}

// The system allocates and clears pages when they are touched. Several threads do this faster than one.
void PinnedMap::touch(i64 at) {
  constexpr int kThreads = 4;
  constexpr i64 kPage = 4096;
  const i64 n = std::min(kPiece, bytes_ - at);
  in_parallel(kThreads, [&](int t) {
    for (i64 i = n * t / kThreads, end = n * (t + 1) / kThreads; i < end; i += kPage) memory_[at + i] = {};
  });
}

// Each piece is touched while the driver pins the previous one. Between pieces there is time for launches.
void PinnedMap::pin() {
  constexpr double kLeast = 0.001;
  check_cuda(cudaSetDevice(device_), "pinning memory");  // a new thread begins with device 0
  const auto begin = [this](i64 at) { return std::async(std::launch::async, [this, at] { touch(at); }); };
  std::future<void> touched = begin(0);
  for (i64 at = 0; at < bytes_ && !is_over_; at += kPiece) {
    touched.get();
    if (at + kPiece < bytes_) touched = begin(at + kPiece);
    const i64 n = std::min(kPiece, bytes_ - at);
    const double began = steady_seconds();
    check_cuda(cudaHostRegister(memory_ + at, size_t(n), cudaHostRegisterPortable),
               "pinning memory for copies of the state");
    pinned_ = at + n;
    std::this_thread::sleep_for(std::chrono::duration<double>((steady_seconds() - began) / 2 + kLeast));
  }
}

}  // namespace megalith::cuda
