// Memory blocks of one size, aligned for direct reads. Returned blocks are kept for the next request, because fresh
// pages cost more than the reads into them. Several threads may use it. It keeps as many blocks as were lent at once.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class BlockPool {
 public:
  static constexpr i64 kBlock = 4096;  // that memory, place and size of a direct read are multiples of

  explicit BlockPool(i64 bytes);  // of a piece; a multiple of kBlock
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  struct Return {
    BlockPool* pool;
    void operator()(std::byte* piece) const;
  };
  using Loan = std::unique_ptr<std::byte, Return>;  // `bytes()` of them
  Loan lend();                                      // std::bad_alloc if there is no memory
  i64 bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* piece) const;
  };
  i64 bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte, Free>> kept_;
  std::size_t made_ = 0;
};

}  // namespace megalith
