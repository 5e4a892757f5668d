// The chunks of a corpus in which neighbours are searched. Each document, without its end-of-document token, is cut
// into chunks of equal length; the last one may be shorter. File chunks.npy: u32 [chunks, 3]: document, first token,
// and end of each chunk.
#pragma once
#include <memory>
#include <string>

#include "data/split.h"
#include "data/stored_array.h"
#include "data/token_source.h"

namespace megalith {

class ChunkDatabase {
 public:
  // Cuts these documents of a source. `eod`: -1: there is none.
  static ChunkDatabase cut(std::shared_ptr<const TokenSource> source, Range documents, i64 chunk_length, i64 eod);
  // Opens a file. Error, with its name, if it does not have `chunks` chunks of the source.
  static ChunkDatabase open(const std::string& path, i64 chunks, std::shared_ptr<const TokenSource> source);
  void save(const std::string& path) const;

  i64 size() const { return chunks_.size() / kColumns; }
  i64 document(i64 chunk) const { return chunks_[chunk * kColumns]; }
  i64 first(i64 chunk) const { return chunks_[chunk * kColumns + 1]; }
  i64 end(i64 chunk) const { return chunks_[chunk * kColumns + 2]; }

  // A chunk's tokens.
  std::vector<i32> tokens(i64 chunk) const;
  // The chunk and the following text of its document, at most `count` chunks; padded with `pad`.
  void read(i64 chunk, i64 count, i32 pad, std::span<i32> out) const;

 private:
  static constexpr i64 kColumns = 3;
  ChunkDatabase(std::shared_ptr<const TokenSource> source, StoredArray<u32> chunks)
      : source_(std::move(source)), chunks_(std::move(chunks)) {}

  std::shared_ptr<const TokenSource> source_;
  StoredArray<u32> chunks_;
};

}  // namespace megalith
