// Writes Megatron's indexed dataset: PREFIX.bin as tokens come, PREFIX.idx at the end. Both have temporary names until
// finish().
#pragma once
#include <span>
#include <string>
#include <vector>

#include "data/output_file.h"
#include "data/token_type.h"

namespace megalith {

class IndexedDatasetWriter {
 public:
  // Error if the files cannot be created. Nothing that already has the final names is touched before finish().
  IndexedDatasetWriter(std::string prefix, TokenType type);

  // Appends one sequence to the document under way. Error if a token does not fit the type.
  void add_sequence(std::span<const i32> tokens);

  // Ends the document under way; a document without sequences is allowed.
  void end_document();

  // One document whose sequences have the given lengths, laid end to end in tokens. Error if they don't add up.
  void add_document(std::span<const i32> tokens, std::span<const i32> lengths);

  // Publishes both files. Without it (an error, a crash) no file is left under the final names.
  void finish();

  i64 sequences() const { return i64(lengths_.size()); }
  i64 documents() const { return i64(documents_.size()) - 1; }
  i64 tokens() const { return tokens_; }

 private:
  void write_index();

  std::string prefix_;
  TokenType type_;
  OutputFile bin_, idx_;
  std::vector<i32> lengths_;
  std::vector<i64> documents_{0};
  i64 tokens_ = 0;
};

}  // namespace megalith
