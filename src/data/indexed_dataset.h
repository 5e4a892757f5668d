// Megatron's indexed dataset: PREFIX.idx, which is mapped into memory, and PREFIX.bin, which is read.
// \n.idx (little-endian, unaligned): magic, u64 version, u8 type code, u64 S, u64 D; i32 lengths[S], i64 byte
// pointers[S], i64 documents[D], optionally i8 modes[S]. `documents` has the first sequence of each document, then S.
// .bin: the tokens, without gaps. The constructor checks everything, so later reads stay inside the files.
#pragma once
#include <string>

#include "base/mapped_file.h"
#include "base/read_file.h"
#include "data/token_source.h"
#include "data/token_type.h"

namespace megalith {

class IndexedDataset : public TokenSource {
 public:
  // Limit of mapped .idx bytes during reads: the pages around two positions.
  static constexpr i64 kKeptBytes = i64{4} << 20;

  // Opens PREFIX.idx and PREFIX.bin. Error, with the file's name, if one is missing, foreign, truncated or
  // inconsistent.
  explicit IndexedDataset(const std::string& prefix);

  const std::string& name() const override { return prefix_; }
  i64 sequences() const override { return sequences_; }
  i64 length(i64 sequence) const override;
  void lengths(std::span<const i32> sequences, std::span<i32> out) const override;
  i64 byte_of(i64 sequence, i64 token) const override { return pointer(sequence) + token * size_of(type_); }
  void read(i64 sequence, i64 offset, std::span<i32> out) const override;

  TokenType type() const { return type_; }
  i64 tokens() const { return bin_.size() / size_of(type_); }
  i64 documents() const { return document_entries_ - 1; }
  i64 document_begin(i64 entry) const;  // entry in 0..documents(): document d has sequences [begin(d), begin(d + 1))
  bool has_modes() const { return has_modes_; }

 private:
  void check_header();
  void check_sequences() const;
  void check_documents() const;
  i64 pointer(i64 sequence) const;  // byte offset in .bin

  std::string prefix_;
  MappedFile idx_;
  ReadFile bin_;
  TokenType type_{};
  i64 sequences_ = 0, document_entries_ = 0;
  bool has_modes_ = false;
};

}  // namespace megalith
