// Writes Megatron's indexed dataset: PREFIX.bin as tokens arrive, PREFIX.idx at the end. Both have temporary names
// until publish(). Memory does not grow with the size of the data.
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
  // Error if the files cannot be created. Existing files with the final names are unchanged until publish().
  IndexedDatasetWriter(std::string prefix, TokenType type);

  // Appends a sequence to the current document. Error if a token does not fit the type.
  void add_sequence(std::span<const i32> tokens);

  // Ends the current document; it may have no sequences.
  void end_document();

  // Appends a document. `lengths`: of its sequences, which are concatenated in `tokens`. Error if the sums differ.
  void add_document(std::span<const i32> tokens, std::span<const i32> lengths);

  // Copies all documents of another dataset. Error if its type differs, or if it has modes.
  void add_dataset(const std::string& prefix);

  // close() writes everything to disk, under temporary names. publish() renames both files. Without publish() (an
  // error, a crash) no file has a final name.
  void close();
  void publish();
  void finish() { close(), publish(); }

  i64 sequences() const { return lengths_.size(); }
  i64 documents() const { return document_ends_.size(); }
  i64 tokens() const { return tokens_; }

 private:
  void fail_token(std::span<const i32> tokens) const;  // Error with the first token that does not fit
  void write_index();

  std::string prefix_;
  TokenType type_;
  OutputFile bin_, idx_;
  Spool<i32> lengths_;
  Spool<i64> document_ends_;  // number of sequences up to each document's end
  std::vector<u8> values_;    // a sequence in the element type of the file
  i64 tokens_ = 0;
};

}  // namespace megalith
