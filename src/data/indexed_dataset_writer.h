// Writes Megatron's indexed dataset: PREFIX.bin as tokens arrive, PREFIX.idx at the end. Both have temporary names
// until finish(). Memory does not grow with the size of the data.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "data/output_file.h"
#include "data/spool.h"
#include "data/token_type.h"

namespace megalith {

class IndexedDatasetWriter {
 public:
  // Error if the files cannot be created. Existing files with the final names are unchanged until finish().
  IndexedDatasetWriter(std::string prefix, TokenType type);

  // Appends one sequence to the document under way. Error if a token does not fit the type.
  void add_sequence(std::span<const i32> tokens);

  // Ends the document under way; a document without sequences is allowed.
  void end_document();

  // One document whose sequences have the given lengths, laid end to end in tokens. Error if they don't add up.
  void add_document(std::span<const i32> tokens, std::span<const i32> lengths);

  // All documents of another dataset, as they are. Error if its type is another, or if it has modes.
  void add_dataset(const std::string& prefix);

  // Everything reaches the disk, still under temporary names; then publish() gives both files their own. Without it
  // (an error, a crash) no file is left under the final names.
  void close();
  void publish();
  void finish() { close(), publish(); }

  i64 sequences() const { return lengths_.size(); }
  i64 documents() const { return document_ends_.size(); }
  i64 tokens() const { return tokens_; }

 private:
  void fail_token(std::span<const i32> tokens) const;  // Error naming the first that does not fit
  void write_index();

  std::string prefix_;
  TokenType type_;
  OutputFile bin_, idx_;
  Spool<i32> lengths_;
  Spool<i64> document_ends_;  // the number of sequences up to there
  std::vector<u8> values_;    // a sequence in the type of the file
  i64 tokens_ = 0;
};

}  // namespace megalith
