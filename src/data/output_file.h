// A file that is written under a temporary name and takes its own name only when it is whole. So a crash or a full disk
// never leaves a partly written file that looks finished.
#pragma once
#include <cstdio>
#include <span>
#include <string>

#include "base/dtype.h"

namespace megalith {

// For OutputFile, where several threads, processes or hosts may write one file at the same time.
std::string unique_suffix();

class OutputFile {
 public:
  // Opens path + suffix; Error if it cannot be created, or if another OutputFile, of any process, is writing it.
  // Processes that may write the same file at the same time need suffixes of their own.
  explicit OutputFile(std::string path, const std::string& suffix = ".partial");
  ~OutputFile();  // removes the temporary file unless it was published
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t bytes);  // Error naming the file when the disk is full
  template <class T>
  void write_value(const T& value) {
    write(&value, sizeof value);
  }
  template <class T>
  void write_all(std::span<const T> values) {
    write(values.data(), values.size_bytes());
  }

  void close();    // everything reaches the disk; Error if it does not
  void publish();  // after close(): renames to the final name, replacing what was there

 private:
  // Held until the file has its own name, so that no other run takes the temporary file for a leftover.
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
