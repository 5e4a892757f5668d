// A file with a temporary name until it is complete. So a crash or a full disk never leaves a partly written file
// that looks complete.
#pragma once
#include <cstdio>
#include <span>
#include <string>

#include "base/dtype.h"

namespace megalith {

// A unique suffix for OutputFile, if several threads, processes or hosts may write the same file at the same time.
std::string unique_suffix();

class OutputFile {
 public:
  // Opens path + suffix. Error if it cannot be created, or if another OutputFile, of any process, is writing it.
  // Processes that may write the same file at the same time need different suffixes.
  explicit OutputFile(std::string path, const std::string& suffix = ".partial");
  ~OutputFile();  // removes the temporary file unless it was published
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t bytes);  // Error with the file's name if the disk is full
  template <class T>
  void write_value(const T& value) {
    write(&value, sizeof value);
  }
  template <class T>
  void write_all(std::span<const T> values) {
    write(values.data(), values.size_bytes());
  }

  void close();    // writes everything to disk; Error if that fails
  void publish();  // after close(): renames to the final name, replacing an existing file

 private:
  // Held until the rename, so that no other run takes the temporary file for a leftover.
  class Lock {
   public:
    explicit Lock(const std::string& file);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int fd_;
  };

  [[noreturn]] void fail_write(int error) const;

  std::string path_, partial_;
  Lock lock_;
  std::FILE* file_ = nullptr;
  bool published_ = false;
};

}  // namespace megalith
