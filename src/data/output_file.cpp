#include "data/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/check.h"

namespace megalith {

std::string unique_suffix() {
  std::random_device random;
  return fmt::format(".partial-{:08x}{:08x}", random(), random());
}

// A leftover of a killed run is overwritten. The lock ends with the process. File systems without locks work without
// one.
OutputFile::Lock::Lock(const std::string& file) : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
  check(fd_ >= 0, "cannot create {}: {}: check that its folder exists and can be written", file, std::strerror(errno));
  struct stat opened = {}, named = {};  // another run may rename the file between open() and flock()
  ::fstat(fd_, &opened);
  if (!S_ISREG(opened.st_mode)) return;
  const bool taken = ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const bool same = ::stat(file.c_str(), &named) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  if (!taken && same) return;
  ::close(fd_);
  fail("{} is being written by another run: wait until it has ended, or choose another output", file);
}

OutputFile::Lock::~Lock() { ::close(fd_); }

OutputFile::OutputFile(std::string path, const std::string& suffix)
    : path_(std::move(path)), partial_(path_ + suffix), lock_(partial_) {
  file_ = std::fopen(partial_.c_str(), "wb");
  check(file_, "cannot create {}: {}: check that its folder exists and can be written", partial_, std::strerror(errno));
  std::setvbuf(file_, nullptr, _IOFBF, std::size_t{1} << 20);
}

OutputFile::~OutputFile() {
  if (file_) std::fclose(file_);
  std::error_code ignored;
  if (!published_) std::filesystem::remove(partial_, ignored);
}

void OutputFile::fail_write(int error) const {
  fail("cannot write {}: {}: no file was left; free space or choose another folder", partial_, std::strerror(error));
}

void OutputFile::write(const void* data, std::size_t bytes) {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail_write(errno);
}

void OutputFile::close() {
  const bool flushed = std::fflush(file_) == 0 && ::fsync(::fileno(file_)) == 0;
  const int error = errno;
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (!flushed) fail_write(error);
  if (!closed) fail_write(errno);
}

void OutputFile::publish() {
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  check(!error, "cannot rename {} to {}: {}", partial_, path_, error.message());
  published_ = true;
}

}  // namespace megalith
