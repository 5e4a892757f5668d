#include "base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/read_error.h"

namespace megalith {

namespace {

constexpr std::size_t kLong = std::size_t{1} << 20;

// Whether the file system and the disk accept reads of our blocks past the cache. A first read finds out.
bool passes_cache(int file, BlockPool& blocks) {
  const int flags = ::fcntl(file, F_GETFL);
  if (::fcntl(file, F_SETFL, flags | O_DIRECT) != 0) return false;
  if (::pread(file, blocks.lend().get(), std::size_t(BlockPool::kBlock), 0) >= 0) return true;
  ::fcntl(file, F_SETFL, flags);
  return false;
}

}  // namespace

ReadFile::ReadFile(std::string path, BlockPool* blocks) : path_(std::move(path)), blocks_(blocks) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait for who writes it
  if (file_ < 0) throw_read_error("open", path_, errno);
  struct stat info {};
  const int error = ::fstat(file_, &info) == 0 ? 0 : errno;
  const bool good = error == 0 && S_ISREG(info.st_mode);
  if (!good) ::close(file_);
  if (error != 0) throw_read_error("read", path_, error);
  if (!good) throw DamagedFile(fmt::format("cannot read {}: it is not a regular file", path_));
  size_ = i64(info.st_size);
  if (blocks != nullptr && !passes_cache(file_, *blocks)) blocks_ = nullptr;
}

ReadFile::~ReadFile() { ::close(file_); }

void ReadFile::read(i64 offset, std::span<std::byte> out) const {
  // The disk reads a whole range, and the next one, while this one is processed.
  if (blocks_ == nullptr && out.size() >= kLong) expect(offset, 2 * i64(out.size()));
  while (!out.empty()) {
    const i64 n = blocks_ != nullptr ? read_blocks(offset, out) : read_some(offset, out);
    offset += n, out = out.subspan(std::size_t(n));
  }
}

void ReadFile::expect(i64 offset, i64 bytes) const {
  ::posix_fadvise(file_, offset, bytes, POSIX_FADV_WILLNEED);  // only advice
}

i64 ReadFile::read_some(i64 offset, std::span<std::byte> out) const {
  ssize_t n = 0;
  do n = ::pread(file_, out.data(), out.size(), offset);
  while (n < 0 && errno == EINTR);
  if (n < 0) throw_read_error("read", path_, errno);
  if (n == 0) throw_truncated(offset, out.size());
  return n;
}

void ReadFile::throw_truncated(i64 offset, std::size_t bytes) const {
  struct stat now {};
  ::fstat(file_, &now);
  throw DamagedFile(fmt::format("{} ends at byte {}, bytes {} to {} were expected: it is truncated", path_,
                                i64(now.st_size), offset, offset + i64(bytes)));
}

// Whole blocks around the wanted bytes.
i64 ReadFile::read_blocks(i64 offset, std::span<std::byte> out) const {
  constexpr i64 kBlock = BlockPool::kBlock;
  const i64 first = offset / kBlock * kBlock, before = offset - first;
  const i64 blocks = std::min(blocks_->bytes(), (before + i64(out.size()) + kBlock - 1) / kBlock * kBlock);
  const BlockPool::Loan memory = blocks_->lend();
  const i64 n = read_some(first, {memory.get(), std::size_t(blocks)}) - before;
  if (n <= 0) throw_truncated(offset, out.size());
  const auto wanted = std::min(std::size_t(n), out.size());
  std::memcpy(out.data(), memory.get() + before, wanted);
  return i64(wanted);
}

std::vector<std::byte> FileRange::bytes(i64 offset, i64 n) const {
  check(offset >= 0 && n >= 0 && offset <= size && n <= size - offset, "{}: no bytes {} to {} in a part of {}",
        file->path(), offset, offset + n, size);
  std::vector<std::byte> out(static_cast<std::size_t>(n));
  read(offset, out);
  return out;
}

}  // namespace megalith
