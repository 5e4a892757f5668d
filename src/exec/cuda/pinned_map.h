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
  void wait();                          // until the GPU reaches all of it; Error if it cannot
  bool is_ready(double seconds) const;  // wait() will not wait; waits so long for it
  // From here to the end of a piece, which one copy stays within: pieces are pinned one by one.
  i64 left_in_piece(const std::byte* at) const { return kPiece - (at - memory_) % kPiece; }

 private:
  // The driver lets no launch through while it pins a piece.
  static constexpr i64 kPiece = i64{32} << 20;
  void touch(i64 at);  // the piece that begins there
  void pin();

  std::byte* memory_ = nullptr;
  i64 bytes_, pinned_ = 0;
  int device_;
  std::atomic<bool> is_over_ = false;
  std::future<void> work_;
};

}  // namespace megalith::cuda
