// Pinned memory that a separate thread allocates, because 20 GiB take seconds. Callers wait only when they need it.
#pragma once
#include <atomic>
#include <future>

#include "base/dtype.h"

namespace megalith::cuda {

class PinnedMap {
 public:
  PinnedMap(i64 bytes, int device);
  ~PinnedMap();
  PinnedMap(const PinnedMap&) = delete;
  PinnedMap& operator=(const PinnedMap&) = delete;

  std::byte* get() const { return memory_; }
  i64 bytes() const { return bytes_; }
  void wait();                          // until the GPU can access all of it; Error if it cannot
  bool is_ready(double seconds) const;  // whether wait() will return at once; waits at most `seconds` for it
  // Bytes from here to the end of a piece. One copy stays within a piece, because pieces are pinned one by one.
  i64 left_in_piece(const std::byte* at) const { return kPiece - (at - memory_) % kPiece; }

 private:
  // While the driver pins a piece, no launch proceeds.
  static constexpr i64 kPiece = i64{32} << 20;
  void touch(i64 at);  // touches the piece that begins there
  void pin();

  std::byte* memory_ = nullptr;
  i64 bytes_, pinned_ = 0;
  int device_;
  std::atomic<bool> is_over_ = false;
  std::future<void> work_;
};

}  // namespace megalith::cuda
