// Byte-pair encoding of one word. It starts with single bytes, or other first symbols. It merges the neighbours whose
// pair has the lowest rank, until no pair has a rank. Of equal pairs the leftmost comes first. Symbols are token ids.
#pragma once
#include <array>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// The merge list as a flat hash table from pair to (rank, merged id). Pairs of single bytes have a direct table.
class BpeMerges {
 public:
  static constexpr u32 kNoRank = 0xFFFFFF;  // ranks are below it, so a rank and a position share 32 bits

  struct Merge {
    u32 rank = kNoRank;
    u32 id = 0;
  };
  struct Rule {
    u32 left, right;
    Merge merge;
  };

  // byte_ids[b]: the token of the byte b. If two rules have the same pair, the later one counts.
  BpeMerges(const std::array<u32, 256>& byte_ids, const std::vector<Rule>& rules);

  u32 id_of_byte(u8 byte) const { return byte_ids_[byte]; }
  Merge find_bytes(u8 left, u8 right) const { return byte_pairs_[left * 256u + right]; }
  Merge find(u32 left, u32 right) const {
    const u64 key = u64(left) << 32 | right;
    for (u64 at = hash(key) >> shift_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.key == key) return slot.merge;
      if (slot.key == kEmpty) return {};
    }
  }

 private:
  static constexpr u64 kEmpty = ~u64{0};
  struct Slot {
    u64 key = kEmpty;
    Merge merge;
  };

  static u64 hash(u64 key) { return (key ^ key >> 29) * 0x9E3779B97F4A7C15ull; }
  void insert(const Rule& rule);

  std::array<u32, 256> byte_ids_;
  std::vector<Merge> byte_pairs_;
  std::vector<Slot> slots_;
  u64 mask_ = 0;
  int shift_ = 0;
};

// Encodes words. It owns the memory for long words, so each thread needs its own.
class BpeEncoder {
 public:
  // `window`: bytes of a window of a long word, at least 8. By default its nodes fit in the second-level cache.
  explicit BpeEncoder(const BpeMerges& merges, size_t window = 4096) : merges_(merges), window_(window) {}

  // Writes the ids of word[0, size) to out, which has room for `size` ids, and returns their number. Time: about
  // size^2/16 steps up to kShort bytes; linear beyond, because long words are encoded in windows.
  size_t encode(const u8* word, size_t size, i32* out);
  // The same for first symbols that are not bytes.
  size_t encode(const u32* symbols, size_t size, i32* out);

 private:
  static constexpr size_t kShort = 256;

  // word: gives the first symbols and the merges of neighbours.
  template <class Word>
  size_t encode_word(const Word& word, size_t size, i32* out);
  template <class Word>
  size_t encode_short(const Word& word, size_t size, i32* out) const;
  // In windows of at most `window` symbols. False if the ends of windows may affect the result.
  template <class Word>
  bool encode_windows(const Word& word, size_t size, size_t window, i32*& out);
  // Merges all symbols of the word. The list in nodes_ that begins at 0 then holds the tokens.
  template <class Word>
  void merge(const Word& word, size_t size);
  // Whether the encoding of two neighbouring tokens' text gives these tokens.
  template <class Word>
  bool stay_apart(const Word& text, size_t size, i32 left, i32 right) const;
  void set_pair(u32 at);

  struct Node {
    u32 symbol, next, previous;
    BpeMerges::Merge merge;  // with the next node
  };
  const BpeMerges& merges_;
  size_t window_;
  std::vector<Node> nodes_;
  std::vector<u64> heap_;  // rank and position; an entry is stale if the node's rank has changed
};

}  // namespace megalith
