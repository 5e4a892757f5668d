#include "base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace megalith {

ReadFile::ReadFile(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  check(file_ >= 0, "cannot open {}: {}: check the path", path_, std::strerror(errno));
  struct stat info {};
  const bool known = ::fstat(file_, &info) == 0 && S_ISREG(info.st_mode);
  if (!known) ::close(file_);
  check(known, "cannot read {}: it is not a regular file", path_);
  size_ = i64(info.st_size);
}

ReadFile::~ReadFile() { ::close(file_); }

void ReadFile::read(i64 offset, std::span<std::byte> out) const {
  // The disk starts on all of a long stretch at once, and on as much behind it: that is read while this is looked at.
  constexpr std::size_t kLong = std::size_t{1} << 20;
  if (out.size() >= kLong) ::posix_fadvise(file_, offset, 2 * i64(out.size()), POSIX_FADV_WILLNEED);
  while (!out.empty()) {
    const ssize_t n = ::pread(file_, out.data(), out.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    check(n >= 0, "cannot read {}: {}: check the disk", path_, std::strerror(errno));
    check(n > 0, "{} ends at byte {}, {} more were expected: it is truncated", path_, offset, out.size());
    offset += n, out = out.subspan(std::size_t(n));
  }
}

}  // namespace megalith
