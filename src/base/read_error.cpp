#include "base/read_error.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace megalith {

namespace {

bool is_absence(int error) {
  constexpr int kErrors[] = {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG};
  return std::ranges::find(kErrors, error) != std::end(kErrors);
}

// As disks, and file systems that compare checksums, put it.
bool is_damage(int error) {
  constexpr int kErrors[] = {EIO, ENODATA, EILSEQ, EREMOTEIO, EUCLEAN, EBADMSG};
  return std::ranges::find(kErrors, error) != std::end(kErrors);
}

const char* remedy(int error) {
  switch (error) {
    case EMFILE:
      return "allow this process more open files (ulimit -n)";
    case ENFILE:
      return "close files of other programs, or raise fs.file-max";
    case EACCES:
    case EPERM:
      return "give this user the right to read it";
    case ENOMEM:
      return "free some of the host's memory";
    default:
      return "see that its file system is well, and start again";
  }
}

}  // namespace

void throw_read_error(const char* what, const std::string& path, int error) {
  const std::string text = fmt::format("cannot {} {}: {}", what, path, std::strerror(error));
  if (is_absence(error) || error == EISDIR || error == ENXIO) throw DamagedFile(text + ": check the path");
  if (is_damage(error)) throw DamagedFile(text + ": check the disk");
  throw UnreachableFile(text + ": " + remedy(error));
}

bool file_exists(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 || is_damage(errno)) return true;
  if (is_absence(errno)) return false;
  throw_read_error("look for", path, errno);
}

}  // namespace megalith
