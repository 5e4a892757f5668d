// Encodes pieces of text, mostly from a cache of short words. A Model encodes the others:
//   size_t encode(const u8* piece, size_t size, i32* out): writes at most max_ids(size) ids, returns their number.
#pragma once
#include <algorithm>
#include <vector>

#include "tokens/byte_bpe.h"
#include "tokens/word_cache.h"

namespace megalith {

template <class Model>
class PieceEncoder {
 public:
  explicit PieceEncoder(Model model) : model_(std::move(model)) {}

  // The piece is bytes[0, size), size > 0. `readable`: the readable bytes from there.
  void add(const u8* bytes, size_t size, size_t readable, std::vector<i32>& out) {
    const size_t room = std::max(model_.max_ids(size), WordCache::kMostIds);  // a cached word copies all its slots
    if (block_.size() - count_ < room) [[unlikely]] {
      flush(out);
      if (block_.size() < room) block_.resize(room);
    }
    count_ += encode(bytes, size, readable, block_.data() + count_);
  }

  // Ids collect in a block of fixed size, because growing `out` for each piece would cost more than the encoding.
  // Call this after the last piece.
  void flush(std::vector<i32>& out) {
    out.insert(out.end(), block_.begin(), block_.begin() + i64(count_));
    count_ = 0;
  }

 private:
  size_t encode(const u8* piece, size_t size, size_t readable, i32* out) {
    if (size > WordCache::kLongestWord) return model_.encode(piece, size, out);
    const WordCache::Key key = WordCache::key_of(piece, size, readable);
    WordCache::Entry& entry = cache_.place_of(key);
    if (entry.key == key) [[likely]] {
      std::copy_n(entry.ids, WordCache::kMostIds, out);
      return entry.count;
    }
    const size_t count = model_.encode(piece, size, out);
    if (count <= WordCache::kMostIds) {
      entry.key = key;
      entry.count = u32(count);
      std::copy_n(out, count, entry.ids);
    }
    return count;
  }

  Model model_;
  WordCache cache_;
  std::vector<i32> block_ = std::vector<i32>(4096);
  size_t count_ = 0;
};

// A byte-level vocabulary as a Model.
class ByteBpeModel {
 public:
  explicit ByteBpeModel(const ByteBpe& bpe) : bpe_(bpe), encoder_(bpe.merges) {}
  size_t max_ids(size_t size) const { return size; }
  size_t encode(const u8* piece, size_t size, i32* out) {
    if (!bpe_.whole.empty()) {
      const auto found = bpe_.whole.find(std::string_view(reinterpret_cast<const char*>(piece), size));
      if (found != bpe_.whole.end()) return *out = found->second, 1;
    }
    return encoder_.encode(piece, size, out);
  }

 private:
  const ByteBpe& bpe_;
  BpeEncoder encoder_;
};

}  // namespace megalith
