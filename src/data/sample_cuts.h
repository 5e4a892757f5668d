// The positions at which a stream of documents is cut into samples: Megatron's sample index.
#pragma once
#include <array>
#include <span>

#include "data/token_source.h"

namespace megalith {

// A cut before token `offset` of sequence documents[entry].
struct SamplePosition {
  u32 entry = 0;
  i32 offset = 0;
  bool operator==(const SamplePosition&) const = default;
};

// A stream of documents, and the length of its samples. With an extra token a sample has seq_length + 1 tokens and
// shares one with the next.
struct SampleStream {
  const TokenSource& source;
  std::span<const i32> documents;
  i64 seq_length;
  bool add_extra_token;
};

// Moves from cut to cut. A cut depends only on the number of tokens before it.
class SampleCutter {
 public:
  // `from`: a cut. Lengths of `ahead` documents are read at once, at most kMostAhead.
  static constexpr std::size_t kMostAhead = 512;
  SampleCutter(const SampleStream& stream, SamplePosition from, std::size_t ahead);

  SamplePosition cut() const { return {u32(entry_), i32(offset_)}; }
  void skip(i64 samples);  // stays at the end of the documents

 private:
  i64 length(std::size_t entry);

  const SampleStream stream_;
  std::size_t entry_, ahead_;
  i64 offset_;
  std::size_t fetched_ = 0, fetched_end_ = 0;  // range of entries whose lengths are in lengths_
  std::array<i32, kMostAhead> lengths_;
};

}  // namespace megalith
