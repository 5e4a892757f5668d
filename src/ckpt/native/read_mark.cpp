#include "ckpt/native/read_mark.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ckpt/native/checkpoint_layout.h"

namespace megalith {
namespace {

// A descriptor of the file that represents the checkpoint, or -1.
int open_mark(const std::string& checkpoint, int flags) {
  for (const char* name :
       {kManifestFile, ".metadata", "mp_rank_00/model_optim_rng.pt", "mp_rank_00_000/model_optim_rng.pt"}) {
    const int fd = ::open((checkpoint + "/" + name).c_str(), flags | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) return fd;
  }
  return -1;
}

}  // namespace

ReadMark::ReadMark(const std::string& checkpoint) : fd_(open_mark(checkpoint, O_RDONLY)) {
  if (fd_ >= 0) ::flock(fd_, LOCK_SH | LOCK_NB);
}
ReadMark::ReadMark(ReadMark&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
ReadMark& ReadMark::operator=(ReadMark&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
ReadMark::~ReadMark() {
  if (fd_ >= 0) ::close(fd_);
}

bool is_being_read(const std::string& checkpoint) {
  const int fd = open_mark(checkpoint, O_RDWR);  // NFS wants to write where it locks for one alone
  if (fd < 0) return false;
  const bool is_read = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return is_read;
}

}  // namespace megalith
