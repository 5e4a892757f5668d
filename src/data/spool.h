// Numbers that are appended now and read once, in order, later. Memory holds only the last ones; the others are in an
// unnamed file, which is deleted with the process. So memory does not grow with their count.
#pragma once
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// A byte stream in an unnamed file.
class SpoolFile {
 public:
  // `path` must be unused: the first append creates the file there, and removes its name.
  explicit SpoolFile(std::string path) : path_(std::move(path)) {}

  void append(const void* data, std::size_t bytes);  // Error with the path if the disk is full
  void rewind();                                     // call after the last append and before the first read
  void read(void* data, std::size_t bytes);          // Error if there are fewer bytes

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

template <class T>
class Spool {
 public:
  explicit Spool(std::string path) : file_(std::move(path)) {}

  void push(T value) {
    if (block_.size() == kBlock) [[unlikely]] {
      file_.append(block_.data(), kBlock * sizeof(T));
      block_.clear();
    }
    block_.push_back(value);
    ++size_;
  }
  i64 size() const { return size_; }

  // Calls f(std::span<const T>) for all numbers, in order. After that no more can be appended.
  template <class F>
  void read(F&& f) {
    std::vector<T> block(kBlock);
    file_.rewind();
    for (i64 left = size_ - i64(block_.size()); left > 0; left -= i64(kBlock)) {
      file_.read(block.data(), kBlock * sizeof(T));
      f(std::span<const T>(block));
    }
    f(std::span<const T>(block_));
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 16;

  SpoolFile file_;
  std::vector<T> block_;
  i64 size_ = 0;
};

}  // namespace megalith
