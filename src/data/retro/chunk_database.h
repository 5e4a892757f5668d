// The chunks of a corpus that neighbours are looked for in: each document, without the end of document at its end, cut
// into chunks of equal length, the last one shorter. In a file, chunks.npy: u32 [chunks, 3], of each chunk its
// document, its first token in it, and the token behind its last.
#pragma once
#include <memory>
#include <string>

#include "data/split.h"
#include "data/stored_array.h"
#include "data/token_source.h"

namespace megalith {

class ChunkDatabase {
 public:
  // Over these documents of a source. `eod`: -1: there is none.
  static ChunkDatabase cut(std::shared_ptr<const TokenSource> source, Range documents, i64 chunk_length, i64 eod);
  // Of a file. Error, naming it, if it does not hold `chunks` chunks of the source.
  static ChunkDatabase open(const std::string& path, i64 chunks, std::shared_ptr<const TokenSource> source);
  void save(const std::string& path) const;

  i64 size() const { return chunks_.size() / kColumns; }
  i64 document(i64 chunk) const { return chunks_[chunk * kColumns]; }
  i64 first(i64 chunk) const { return chunks_[chunk * kColumns + 1]; }
  i64 end(i64 chunk) const { return chunks_[chunk * kColumns + 2]; }

  // A chunk's tokens.
  std::vector<i32> tokens(i64 chunk) const;
  // The chunk and the text after it in its document, up to so many chunks in total; padded with `pad`.
  void read(i64 chunk, i64 count, i32 pad, std::span<i32> out) const;

 private:
  static constexpr i64 kColumns = 3;
  ChunkDatabase(std::shared_ptr<const TokenSource> source, StoredArray<u32> chunks)
      : source_(std::move(source)), chunks_(std::move(chunks)) {}

  std::shared_ptr<const TokenSource> source_;
  StoredArray<u32> chunks_;
};

}  // namespace megalith
