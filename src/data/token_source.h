// A source of token sequences: files, or generated. Immutable, so several threads may read it.
#pragma once
#include <span>
#include <string>

#include "base/dtype.h"

namespace megalith {

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  virtual const std::string& name() const = 0;  // for messages: the prefix of the files
  virtual i64 sequences() const = 0;
  virtual i64 length(i64 sequence) const = 0;  // in tokens

  // The lengths of many sequences, in any order: out[i] = length(sequences[i]).
  virtual void lengths(std::span<const i32> sequences, std::span<i32> out) const {
    for (std::size_t i = 0; i < sequences.size(); ++i) out[i] = i32(length(sequences[i]));
  }

  // Byte offset of a sequence's token in the token file; -1: there is no file.
  virtual i64 byte_of(i64 /*sequence*/, i64 /*token*/) const { return -1; }

  // Tokens offset .. offset + out.size() - 1 of a sequence. Error if the range is not inside the sequence.
  virtual void read(i64 sequence, i64 offset, std::span<i32> out) const = 0;
};

}  // namespace megalith
