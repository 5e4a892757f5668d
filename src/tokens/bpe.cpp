#include "tokens/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/check.h"

namespace megalith {

BpeMerges::BpeMerges(const std::array<u32, 256>& byte_ids, const std::vector<Rule>& rules)
    : byte_ids_(byte_ids), byte_pairs_(256 * 256) {
  const u64 size = std::bit_ceil(std::max<u64>(16, rules.size() * 5 / 2));
  slots_.resize(size);
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  for (const Rule& rule : rules) insert(rule);
  for (u32 left = 0; left < 256; ++left) {
    for (u32 right = 0; right < 256; ++right) byte_pairs_[left * 256 + right] = find(byte_ids[left], byte_ids[right]);
  }
}

void BpeMerges::insert(const Rule& rule) {
  check(rule.merge.rank < kNoRank, "merge rule {} is one too many: at most {} are possible", rule.merge.rank, kNoRank);
  const u64 key = u64(rule.left) << 32 | rule.right;
  u64 at = hash(key) >> shift_;
  while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask_;
  slots_[at] = {key, rule.merge};
}

namespace {

struct ByteWord {
  const BpeMerges& merges;
  const u8* bytes;
  ByteWord from(size_t i) const { return {merges, bytes + i}; }
  u32 symbol(size_t i) const { return merges.id_of_byte(bytes[i]); }
  BpeMerges::Merge with_next(size_t i) const { return merges.find_bytes(bytes[i], bytes[i + 1]); }
};

struct SymbolWord {
  const BpeMerges& merges;
  const u32* symbols;
  SymbolWord from(size_t i) const { return {merges, symbols + i}; }
  u32 symbol(size_t i) const { return symbols[i]; }
  BpeMerges::Merge with_next(size_t i) const { return merges.find(symbols[i], symbols[i + 1]); }
};

}  // namespace

size_t BpeEncoder::encode(const u8* word, size_t size, i32* out) {
  return encode_word(ByteWord{merges_, word}, size, out);
}

size_t BpeEncoder::encode(const u32* symbols, size_t size, i32* out) {
  return encode_word(SymbolWord{merges_, symbols}, size, out);
}

template <class Word>
size_t BpeEncoder::encode_word(const Word& word, size_t size, i32* out) {
  if (size <= kShort) return encode_short(word, size, out);
  check(size < 0xFFFFFFFF, "a word of {} bytes is too long: at most 4 GiB without a space", size);
  i32* end = out;
  for (size_t window = window_; !encode_windows(word, size, window, end); window *= 2) end = out;
  return size_t(end - out);
}

// No heap: the keys (rank << 8 | position) are in an array, and the compiler vectorizes the search for its minimum.
template <class Word>
size_t BpeEncoder::encode_short(const Word& word, size_t size, i32* out) const {
  constexpr u32 kNone = BpeMerges::kNoRank << 8;
  constexpr size_t kLanes = 16;
  u32 key[kShort];
  u32 symbol[kShort + 1], merged[kShort];
  u16 next[kShort + 1], previous[kShort + 1];
  const size_t padded = (size + kLanes - 1) / kLanes * kLanes;
  for (size_t i = 0; i < size; ++i) {
    symbol[i] = word.symbol(i);
    next[i] = u16(i + 1);
    previous[i + 1] = u16(i);
    const BpeMerges::Merge m = i + 1 < size ? word.with_next(i) : BpeMerges::Merge{};
    key[i] = m.rank << 8 | u32(i);
    merged[i] = m.id;
  }
  std::fill(key + size, key + padded, ~0u);
  const auto set_pair = [&](u32 at) {
    const BpeMerges::Merge m = next[at] < size ? merges_.find(symbol[at], symbol[next[at]]) : BpeMerges::Merge{};
    key[at] = m.rank << 8 | at;
    merged[at] = m.id;
  };
  for (;;) {
    u32 best = ~0u;
    for (size_t i = 0; i < padded; i += kLanes) {
      for (size_t j = 0; j < kLanes; ++j) best = std::min(best, key[i + j]);
    }
    if (best >= kNone) break;
    const u32 at = best & 255, gone = next[at];
    symbol[at] = merged[at];
    key[gone] = ~0u;
    next[at] = next[gone];
    previous[next[gone]] = u16(at);
    set_pair(at);
    if (at > 0) set_pair(previous[at]);
  }
  i32* end = out;
  for (size_t i = 0; i < size; i = next[i]) *end++ = i32(symbol[i]);
  return size_t(end - out);
}

void BpeEncoder::set_pair(u32 at) {
  Node& node = nodes_[at];
  node.merge = node.next < nodes_.size() ? merges_.find(node.symbol, nodes_[node.next].symbol) : BpeMerges::Merge{};
  if (node.merge.rank == BpeMerges::kNoRank) return;
  heap_.push_back(u64(node.merge.rank) << 32 | at);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

template <class Word>
void BpeEncoder::merge(const Word& word, size_t size) {
  nodes_.resize(size);
  heap_.clear();
  for (u32 i = 0; i < size; ++i) {
    const BpeMerges::Merge m = i + 1 < size ? word.with_next(i) : BpeMerges::Merge{};
    nodes_[i] = {word.symbol(i), i + 1, i - 1, m};
    if (m.rank != BpeMerges::kNoRank) heap_.push_back(u64(m.rank) << 32 | i);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const u64 top = heap_.back();
    heap_.pop_back();
    const u32 at = u32(top);
    Node& node = nodes_[at];
    if (node.merge.rank != top >> 32) continue;
    Node& gone = nodes_[node.next];
    node.symbol = node.merge.id;
    gone.merge.rank = BpeMerges::kNoRank;
    node.next = gone.next;
    if (node.next < size) nodes_[node.next].previous = at;
    set_pair(at);
    if (at > 0) set_pair(node.previous);
  }
}

template <class Word>
bool BpeEncoder::stay_apart(const Word& text, size_t size, i32 left, i32 right) const {
  std::vector<i32> ids(size);
  const size_t count = BpeEncoder(merges_).encode_word(text, size, ids.data());
  return count == 2 && ids[0] == left && ids[1] == right;
}

// Merges go by rank and position. So tokens are a word's encoding exactly if each pair of neighbours is the encoding of
// its own text. This holds inside a window, and is checked where one window follows another. A window starts at a token
// border of the previous window, a quarter before its end. There the end seldom affects the tokens.
template <class Word>
bool BpeEncoder::encode_windows(const Word& word, size_t size, size_t window, i32*& out) {
  size_t before = 0;  // symbols of the last token
  for (size_t from = 0; from < size;) {
    const size_t here = std::min(window, size - from);
    const bool is_last = from + here == size;
    merge(word.from(from), here);
    const size_t first = nodes_[0].next;
    if (from > 0 && !stay_apart(word.from(from - before), before + first, out[-1], i32(nodes_[0].symbol))) return false;
    const size_t enough = is_last ? here : here - window / 4;
    size_t i = 0;
    while (i < enough) {
      before = nodes_[i].next - i;
      *out++ = i32(nodes_[i].symbol);
      i += before;
    }
    from += i;
  }
  return true;
}

}  // namespace megalith
