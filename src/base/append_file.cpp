#include "base/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace megalith {

static int opened(const std::filesystem::path& path, const std::string& what, bool creates) {
  const auto refuse = [&](const char* problem, const std::string& cause) {
    throw UnwritablePlace(fmt::format("{} {}: {} ({}): choose another place", what, path.string(), problem, cause));
  };
  std::error_code error;
  if (creates && path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) refuse("cannot make its folder", error.message());
  const int fd = open(path.c_str(), O_WRONLY | (creates ? O_CREAT : 0) | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) refuse("cannot open it for writing", std::strerror(errno));
  return fd;
}

AppendFile::AppendFile(std::filesystem::path path, std::string what, Missing missing)
    : path_(std::move(path)), what_(std::move(what)), fd_(opened(path_, what_, missing == Missing::create)) {}

AppendFile::~AppendFile() { close(fd_); }

void AppendFile::warn_once(const std::string& text) {
  if (!std::exchange(warned_, true)) log::warn("{}", text);
}

// A network file system reports a file that another host has removed as stale.
bool AppendFile::is_removed() const {
  struct stat now {};
  return fstat(fd_, &now) == 0 ? S_ISREG(now.st_mode) && now.st_nlink == 0 : errno == ESTALE;
}

bool AppendFile::replace(const std::filesystem::path& path) {
  try {
    const int fd = opened(path, what_, true);
    close(std::exchange(fd_, fd));
  } catch (const UnwritablePlace& e) {
    warn_once(fmt::format("{} was removed: {}: records are lost; the run continues", path_.string(), e.what()));
    return false;
  }
  log::warn("{} {}: it was removed: later records go to {}; the run continues", what_, path_.string(),
            path == path_ ? "a new one" : path.string());
  path_ = path, warned_ = false;
  return true;
}

bool AppendFile::append(std::string_view record) {
  if (is_removed() && !replace(path_)) return false;
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
    warn_once(fmt::format("{} {}: {}: records are lost{}; the run continues", what_, path_.string(),
                          std::strerror(cause), cut ? "" : " and the last one is incomplete"));
    return false;
  }
  return true;
}

}  // namespace megalith
