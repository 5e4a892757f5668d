#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace megalith {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait for who writes it
  check(file >= 0, "cannot open {}: {}: check the path", path_, std::strerror(errno));
  struct stat info {};
  const bool known = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  void* memory = nullptr;
  if (known && info.st_size > 0) memory = ::mmap(nullptr, std::size_t(info.st_size), PROT_READ, MAP_SHARED, file, 0);
  const int error = errno;
  ::close(file);
  check(known, "cannot read {}: it is not a regular file", path_);
  check(memory != MAP_FAILED, "cannot map {}: {}", path_, std::strerror(error));
  if (memory) bytes_ = {static_cast<const u8*>(memory), std::size_t(info.st_size)};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<u8*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(i64 offset, i64 bytes) const {
  constexpr i64 kAround = i64{64} << 10;  // Linux reads this many bytes around each touched page
  const i64 page = ::sysconf(_SC_PAGESIZE), begin = std::max<i64>(0, offset - kAround) / page * page;
  const i64 end = std::min(offset + bytes + kAround, size());
  if (begin < end) ::madvise(const_cast<u8*>(bytes_.data()) + begin, std::size_t(end - begin), MADV_DONTNEED);
}

}  // namespace megalith
