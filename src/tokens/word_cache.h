// The ids of recent short words, so most words of a text need one look-up. Direct-mapped: a newer word replaces an
// older one in its slot. It allocates nothing per word, and no input makes it slow or large.
#pragma once
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/dtype.h"

namespace megalith {

class WordCache {
 public:
  static constexpr size_t kLongestWord = 15;  // bytes
  static constexpr size_t kMostIds = 3;

  // The bytes of a word, and in the last one its length, which is never 0.
  struct Key {
    u64 low, high;
    bool operator==(const Key&) const = default;
  };
  struct alignas(32) Entry {
    Key key;
    i32 ids[kMostIds];
    u32 count;
  };

  // Zeroed memory whose pages are touched only when used.
  WordCache() {
    memory_.reset(std::calloc(kEntries + 1, sizeof(Entry)));
    if (!memory_) throw std::bad_alloc();
    void* start = memory_.get();
    size_t room = (kEntries + 1) * sizeof(Entry);
    entries_ = static_cast<Entry*>(std::align(alignof(Entry), kEntries * sizeof(Entry), start, room));
  }

  // `word` has 1 to kLongestWord bytes. `readable`: the readable bytes from there.
  static Key key_of(const u8* word, size_t size, size_t readable) {
    Key key{0, 0};
    if (readable >= sizeof(Key)) [[likely]] {
      std::memcpy(&key, word, sizeof(Key));
      key.low &= kMasks[size].low;
      key.high &= kMasks[size].high;
    } else {
      std::memcpy(&key, word, size);
    }
    key.high |= u64(size) << 56;
    return key;
  }

  Entry& place_of(const Key& key) {
    const unsigned __int128 product =
        (unsigned __int128)(key.low ^ 0x9E3779B97F4A7C15ull) * (key.high ^ 0xBF58476D1CE4E5B9ull);
    return entries_[(u64(product >> 64) ^ u64(product)) & (kEntries - 1)];
  }

 private:
  static constexpr size_t kEntries = size_t{1} << 16;  // 2 MiB, the second-level cache of one core

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static constexpr std::array<Key, kLongestWord + 1> kMasks = [] {
    std::array<Key, kLongestWord + 1> m{};
    for (size_t n = 0; n <= kLongestWord; ++n) {
      m[n].low = n >= 8 ? ~u64{0} : (u64{1} << 8 * n) - 1;
      m[n].high = n <= 8 ? 0 : (u64{1} << 8 * (n - 8)) - 1;
    }
    return m;
  }();

  std::unique_ptr<void, Free> memory_;
  Entry* entries_;
};

}  // namespace megalith
