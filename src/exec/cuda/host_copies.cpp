#include "exec/cuda/host_copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace megalith::cuda {

std::byte* HostCopies::memory(i64 bytes) {
  if (!pinned_ || bytes > pinned_->bytes()) {
    pinned_.reset();
    pinned_ = std::make_unique<PinnedMap>(std::max<i64>(bytes, 1), device_);
  }
  return pinned_->get();
}

void HostCopies::use_device(i64 bytes) {
  if (bytes <= device_bytes_) return;
  device_memory_.reset(), device_bytes_ = 0;
  device_memory_ = try_device_memory(bytes);
  if (device_memory_)
    device_bytes_ = bytes;
  else
    log::warn(
        "--async-save: the GPU has no {:.1f} MiB for copies of the state: they are copied to the host at once, and the "
        "next update may wait for that; a smaller --micro-batch-size leaves room",
        double(bytes) / (1 << 20));
}

void HostCopies::begin() {
  pinned_->wait();
  used_ = 0, on_device_.clear(), on_host_.clear(), reads_ = false;
  lane_.fork_from(work_);
}

void HostCopies::add(std::span<std::byte> to, const std::byte* from) {
  const size_t here = std::min(to.size(), size_t(device_bytes_ - used_));
  if (here > 0) {
    std::byte* copy = device_memory_.get() + used_;
    check_cuda(cudaMemcpyAsync(copy, from, here, cudaMemcpyDefault, work_), "copying on the GPU");
    on_device_.push_back({to.first(here), copy}), used_ += i64(here);
  }
  if (here < to.size()) to_host(to.subspan(here), from + here), reads_ = true;
}

void HostCopies::add_from_host(std::span<std::byte> to, const std::byte* from) {
  on_host_.push_back({to, from}), reads_ = true;
}

namespace {

struct HostCopy {
  std::span<std::byte> to;
  const std::byte* from;
};

void CUDART_CB copy_now(void* copy) {
  const std::unique_ptr<HostCopy> it(static_cast<HostCopy*>(copy));
  std::memcpy(it->to.data(), it->from, it->to.size());
}

// In chunks, because host functions of other streams share the thread and run between them.
void copy_later(std::span<std::byte> to, const std::byte* from, cudaStream_t stream) {
  constexpr size_t kPiece = size_t{16} << 20;
  for (size_t at = 0; at < to.size(); at += kPiece) {
    auto copy = std::make_unique<HostCopy>(HostCopy{to.subspan(at, std::min(kPiece, to.size() - at)), from + at});
    check_cuda(cudaLaunchHostFunc(stream, copy_now, copy.get()), "copying in the host's memory");
    copy.release();  // copy_now deletes it
  }
}

}  // namespace

void HostCopies::end() {
  for (const Copied& c : on_host_) copy_later(c.to, c.from, lane_.stream());
  check_cuda(cudaEventRecord(read_.get(), lane_.stream()), "copying from the GPU");
  lane_.fork_from(work_);
  for (const Copied& c : on_device_) to_host(c.to, c.from);
  check_cuda(cudaEventRecord(done_.get(), lane_.stream()), "copying from the GPU");
}

void HostCopies::hold() {
  if (std::exchange(reads_, false)) check_cuda(cudaStreamWaitEvent(work_, read_.get()), "copying from the GPU");
}

void HostCopies::to_host(std::span<std::byte> to, const std::byte* from) {
  while (!to.empty()) {
    const size_t n = std::min(to.size(), size_t(pinned_->left_in_piece(to.data())));
    check_cuda(cudaMemcpyAsync(to.data(), from, n, cudaMemcpyDefault, lane_.stream()), "copying from the GPU");
    to = to.subspan(n), from += n;
  }
}

}  // namespace megalith::cuda
