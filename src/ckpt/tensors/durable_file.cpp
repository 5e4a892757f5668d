#include "ckpt/tensors/durable_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/helper.h"

namespace megalith {
namespace {

constexpr std::size_t kBlock = 4096;  // that memory, place and size of a direct write are multiples of

}  // namespace

// Taken from the system and given back to it, page by page as they are touched; in huge pages where a file fills all,
// as the kernel looks up every page of a direct write.
struct DurableFile::Buffers {
  static constexpr std::size_t kBytes = kBuffers * kBufferBytes, kHugePage = std::size_t{2} << 20;
  std::byte* taken;
  std::byte* bytes;

  explicit Buffers(bool fills_all)
      : taken(static_cast<std::byte*>(
            ::mmap(nullptr, kBytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    check(taken != MAP_FAILED, "[file] no memory for buffers of {} bytes: {}", kBytes, std::strerror(errno));
    const auto past = reinterpret_cast<std::uintptr_t>(taken) % kHugePage;
    bytes = past == 0 ? taken : taken + (kHugePage - past);
    if (fills_all) ::madvise(bytes, kBytes, MADV_HUGEPAGE);  // without them it is only slower
  }
  ~Buffers() { ::munmap(taken, kBytes + kHugePage); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
};

DurableFile::DurableFile(std::string path, StepHook hook, i64 room)
    : path_(std::move(path)), hook_(std::move(hook)), room_(room) {
  tell_step(hook_, "create", path_);
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) fail_errno("create", path_);
}

DurableFile::~DurableFile() {
  for (auto& writer : writers_) writer.reset();
  if (fd_ >= 0) ::close(fd_);
}

std::span<std::byte> DurableFile::filling() {
  if (!buffers_) buffers_ = std::make_unique<Buffers>(room_ >= kMemory);
  return {buffers_->bytes + std::size_t(turn_) * kBufferBytes, kBufferBytes};
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kBufferBytes - filled_);
    std::memcpy(filling().data() + filled_, bytes.data(), n);
    sum_.add(bytes.first(n));
    filled_ += n, size_ += i64(n);
    bytes = bytes.subspan(n);
    if (filled_ == kBufferBytes) hand_over();
  }
}

void DurableFile::hand_over() {
  if (size_ == i64{kBufferBytes}) {  // the first
    make_room();
    set_direct(true);
  }
  auto& writer = writers_[std::size_t(turn_)];
  if (!writer) writer = std::make_unique<Helper>();
  writer->start([this, full = filling(), at = size_ - i64{kBufferBytes}] { put(full, at); });
  turn_ = (turn_ + 1) % kBuffers, filled_ = 0;
  if (writers_[std::size_t(turn_)]) writers_[std::size_t(turn_)]->wait();
}

void DurableFile::make_room() {
  if (room_ <= 0) return;
  tell_step(hook_, "allocate", path_);
  int result = 0;
  do result = ::fallocate(fd_, 0, 0, room_);
  while (result != 0 && errno == EINTR);
  // If the file system cannot do it, the file grows with the writes.
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return;
  fail_errno("write", path_);
}

void DurableFile::set_direct(bool on) {
  const int flags = ::fcntl(fd_, F_GETFL);
  is_direct_ = ::fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 && on;
}

void DurableFile::put(std::span<const std::byte> bytes, i64 position) {
  while (!bytes.empty()) {
    tell_step(hook_, "write", path_);
    const bool may_be_direct = is_direct_;  // another thread may end that meanwhile
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), position);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EINVAL && may_be_direct) {  // not in this place, or not with these blocks
      set_direct(false);
      continue;
    }
    if (n < 0) fail_errno("write", path_);
    // The disk starts on these now, and not all at once at the end; a system that can't is no slower than before.
    if (!may_be_direct) ::sync_file_range(fd_, position, n, SYNC_FILE_RANGE_WRITE);
    position += n;
    bytes = bytes.subspan(std::size_t(n));
  }
}

void DurableFile::sync() {
  const std::span<const std::byte> rest(filled_ > 0 ? filling().data() : nullptr, filled_);
  const i64 position = size_ - i64(filled_);
  const std::size_t whole = is_direct_ ? filled_ / kBlock * kBlock : 0;
  put(rest.first(whole), position);  // in parallel with the previous ones
  for (auto& writer : writers_)
    if (writer) writer->wait();
  if (is_direct_) set_direct(false);
  put(rest.subspan(whole), position + i64(whole));
  if (room_ > size_) {
    tell_step(hook_, "truncate", path_);
    if (::ftruncate(fd_, size_) != 0) fail_errno("write", path_);
  }
  tell_step(hook_, "fsync", path_);
  if (::fsync(fd_) != 0) fail_errno("write", path_);
  if (::close(std::exchange(fd_, -1)) != 0) fail_errno("write", path_);
}

}  // namespace megalith
