#include "data/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"

namespace megalith {

OutputFile::OutputFile(std::string path, const std::string& suffix) : path_(std::move(path)), partial_(path_ + suffix) {
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
  fail("cannot write {}: {}: nothing was left behind; free space or choose another folder", partial_,
       std::strerror(error));
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
