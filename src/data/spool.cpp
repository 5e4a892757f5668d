#include "data/spool.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace megalith {

void SpoolFile::append(const void* data, std::size_t bytes) {
  if (!file_) {
    file_.reset(std::fopen(path_.c_str(), "w+b"));
    check(file_ != nullptr, "cannot create {}: {}: check that its folder can be written", path_, std::strerror(errno));
    ::unlink(path_.c_str());
  }
  check(std::fwrite(data, 1, bytes, file_.get()) == bytes, "cannot write {}: {}: free space or choose another folder",
        path_, std::strerror(errno));
}

void SpoolFile::rewind() {
  if (!file_) return;
  const bool written = std::fflush(file_.get()) == 0;
  check(written, "cannot write {}: {}: free space or choose another folder", path_, std::strerror(errno));
  std::rewind(file_.get());
}

void SpoolFile::read(void* data, std::size_t bytes) {
  check(std::fread(data, 1, bytes, file_.get()) == bytes, "cannot read {} again: {}", path_, std::strerror(errno));
}

}  // namespace megalith
