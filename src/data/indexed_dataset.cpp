#include "data/indexed_dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "data/indexed_format.h"
#include "data/not_a_dataset.h"

namespace megalith {
namespace {

template <class T>
T load(const u8* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// True if `value` is an integer that fits into i32.
template <class T>
bool fits_i32(T value) {
  constexpr i64 lowest = std::numeric_limits<i32>::min(), highest = std::numeric_limits<i32>::max();
  if constexpr (std::is_floating_point_v<T>)
    return value >= double(lowest) && value <= double(highest) && std::trunc(value) == value;
  else
    return value >= lowest && value <= highest;
}

const std::string& checked_prefix(const std::string& prefix) {
  check_is_dataset(prefix);
  return prefix;
}

}  // namespace

IndexedDataset::IndexedDataset(const std::string& prefix)
    : prefix_(checked_prefix(prefix)), idx_(prefix + ".idx"), bin_(prefix + ".bin") {
  check_header();
  check_sequences();
  check_documents();
  idx_.release(0, idx_.size());
}

void IndexedDataset::check_header() {
  const u8* bytes = idx_.bytes().data();
  const i64 size = idx_.size();
  check(size >= kIndexHeaderBytes, "{} holds {} bytes, less than the header's {}: truncated; make it again",
        idx_.path(), size, kIndexHeaderBytes);
  check(std::equal(kIndexMagic.begin(), kIndexMagic.end(), bytes),
        "{} does not begin with MMIDIDX: not an indexed dataset; make one with preprocess-data", idx_.path());
  const u64 version = load<u64>(bytes + 9);
  check(version == kIndexVersion, "{} has version {}: only version {} can be read; make it again with preprocess-data",
        idx_.path(), version, kIndexVersion);
  const u8 code = bytes[17];
  check(is_token_type(code), "{} has type code {}: want 1 to 8; the file is damaged, make it again", idx_.path(), code);
  type_ = TokenType(code);

  const u64 sequences = load<u64>(bytes + 18), entries = load<u64>(bytes + 26), rest = u64(size - kIndexHeaderBytes);
  const bool possible = sequences <= rest / 12 && entries <= rest / 8;
  const u64 expected = possible ? 12 * sequences + 8 * entries : 0;
  has_modes_ = possible && sequences > 0 && rest == expected + sequences;
  check(possible && (rest == expected || has_modes_),
        "{} holds {} bytes, which does not fit its {} sequences and {} document entries: truncated or damaged; make it "
        "again",
        idx_.path(), size, sequences, entries);
  check(entries > 0, "{} has no document entries: the file is damaged; make it again", idx_.path());
  sequences_ = i64(sequences), document_entries_ = i64(entries);
}

void IndexedDataset::check_sequences() const {
  const i64 width = size_of(type_);
  i64 end = 0;
  for (i64 s = 0; s < sequences_; ++s) {
    const i64 tokens = length(s), begin = pointer(s);
    check(tokens >= 0, "{} gives sequence {} a length of {}: the file is damaged; make it again", idx_.path(), s,
          tokens);
    check(begin == end, "{} puts sequence {} at byte {} where {} is due: the file is damaged; make it again",
          idx_.path(), s, begin, end);
    end += tokens * width;
    check(end <= bin_.size(), "{} holds {} bytes but sequence {} of {} ends at byte {}: truncated, or of another .idx",
          bin_.path(), bin_.size(), s, idx_.path(), end);
  }
  check(end == bin_.size(),
        "{} holds {} bytes but {} describes {}: the two files do not belong together; make them again", bin_.path(),
        bin_.size(), idx_.path(), end);
}

void IndexedDataset::check_documents() const {
  i64 previous = 0;
  for (i64 d = 0; d < document_entries_; ++d) {
    const i64 begin = document_begin(d);
    check(begin >= previous && (d > 0 || begin == 0),
          "{} says that document {} begins at sequence {} (after {}, of {}): the file is damaged; make it again",
          idx_.path(), d, begin, previous, sequences_);
    previous = begin;
  }
  check(previous == sequences_,
        "{} says that its documents end at sequence {} of {}: the file is damaged; make it again", idx_.path(),
        previous, sequences_);
}

i64 IndexedDataset::length(i64 sequence) const {
  return load<i32>(idx_.bytes().data() + kIndexHeaderBytes + 4 * sequence);
}

void IndexedDataset::lengths(std::span<const i32> sequences, std::span<i32> out) const {
  const u8* all = idx_.bytes().data() + kIndexHeaderBytes;
  for (std::size_t i = 0; i < sequences.size(); ++i) out[i] = load<i32>(all + 4 * i64(sequences[i]));
}

i64 IndexedDataset::pointer(i64 sequence) const {
  return load<i64>(idx_.bytes().data() + kIndexHeaderBytes + 4 * sequences_ + 8 * sequence);
}

i64 IndexedDataset::document_begin(i64 entry) const {
  return load<i64>(idx_.bytes().data() + kIndexHeaderBytes + 12 * sequences_ + 8 * entry);
}

void IndexedDataset::read(i64 sequence, i64 offset, std::span<i32> out) const {
  check(sequence >= 0 && sequence < sequences_, "{} has {} sequences: there is no sequence {}", prefix_, sequences_,
        sequence);
  const i64 count = i64(out.size());
  check(offset >= 0 && offset <= length(sequence) - count, "sequence {} of {} has {} tokens: cannot read {} from {}",
        sequence, prefix_, length(sequence), count, offset);
  const i64 begin = pointer(sequence) + offset * size_of(type_);
  dispatch_token_type(type_, [&]<class T>() {
    std::array<T, (std::size_t{32} << 10) / sizeof(T)> piece;
    for (i64 at = 0; at < count; at += i64(piece.size())) {
      const i64 n = std::min(i64(piece.size()), count - at);
      bin_.read(begin + at * i64(sizeof(T)), std::as_writable_bytes(std::span(piece.data(), std::size_t(n))));
      for (i64 i = 0; i < n; ++i) {
        check(fits_i32(piece[i]),
              "{} holds {} at token {} of document {}: not a token id; make it again with preprocess-data", bin_.path(),
              piece[i], offset + at + i, sequence);
        out[at + i] = i32(piece[i]);
      }
    }
  });
  // A long run reads the whole index, and mapped pages would fill the process's memory.
  if (idx_.size() > kKeptBytes) idx_.release(0, idx_.size());
}

}  // namespace megalith
