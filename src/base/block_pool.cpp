#include "base/block_pool.h"

#include <cstdlib>
#include <new>

namespace megalith {

BlockPool::BlockPool(i64 bytes) : bytes_(bytes) {}

BlockPool::Loan BlockPool::lend() {
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) {
    std::unique_ptr<std::byte, Free> piece(static_cast<std::byte*>(std::aligned_alloc(kBlock, std::size_t(bytes_))));
    if (!piece) throw std::bad_alloc();
    kept_.reserve(++made_);  // so that a return never fails
    return {piece.release(), Return{this}};
  }
  Loan loan(kept_.back().release(), Return{this});
  kept_.pop_back();
  return loan;
}

void BlockPool::Return::operator()(std::byte* piece) const {
  const std::lock_guard lock(pool->mutex_);
  pool->kept_.emplace_back(piece);
}

void BlockPool::Free::operator()(std::byte* piece) const { std::free(piece); }

}  // namespace megalith
