#include "base/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace megalith {

AppendFile::AppendFile(std::filesystem::path path, std::string what, Missing missing)
    : path_(std::move(path)), what_(std::move(what)) {
  std::error_code error;
  const bool creates = missing == Missing::create;
  if (creates && path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
  check(!error, "{} {}: cannot make its folder ({}): choose another place", what_, path_.string(), error.message());
  fd_ = open(path_.c_str(), O_WRONLY | (creates ? O_CREAT : 0) | O_APPEND | O_CLOEXEC, 0666);
  check(fd_ >= 0, "{} {}: cannot open it for writing ({}): choose another place", what_, path_.string(),
        std::strerror(errno));
}

AppendFile::~AppendFile() { close(fd_); }

bool AppendFile::append(std::string_view record) {
  struct stat before {};
  const bool regular = fstat(fd_, &before) == 0 && S_ISREG(before.st_mode);
  for (size_t done = 0; done < record.size();) {
    const ssize_t n = write(fd_, record.data() + done, record.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n >= 0) {
      done += size_t(n);
      continue;
    }
    const int cause = errno;
    const bool cut = !regular || done == 0 || ftruncate(fd_, before.st_size) == 0;
    if (!warned_)
      log::warn("{} {}: {}: records are lost{}; the run continues", what_, path_.string(), std::strerror(cause),
                cut ? "" : " and the last one is incomplete");
    warned_ = true;
    return false;
  }
  return true;
}

}  // namespace megalith
