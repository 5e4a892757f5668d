// Turns chunks of input into tokens: the work of one preprocess-data worker.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/input_reader.h"
#include "tokens/json_text.h"
#include "tokens/sentence_splitter.h"
#include "tokens/tokenizer.h"

namespace megalith {

// The consecutive documents of one key: tokens, lengths of their sequences, and number of sequences of each document.
struct EncodedDocuments {
  std::vector<i32> tokens;
  std::vector<i32> lengths;
  std::vector<i32> sequences;  // of each document; 0 for a text without tokens

  struct Size {
    size_t tokens = 0, lengths = 0, sequences = 0;
  };
  Size size() const { return {tokens.size(), lengths.size(), sequences.size()}; }
  void cut(Size s) { tokens.resize(s.tokens), lengths.resize(s.lengths), sequences.resize(s.sequences); }
};

// The documents of one chunk.
struct EncodedChunk {
  static constexpr size_t kMostTold = 100;

  std::vector<EncodedDocuments> keys;  // of each key, all of equal number
  i64 bad_lines = 0;
  std::vector<std::string> told;  // the errors of the first kMostTold bad lines, with file and line
};

struct DocumentOptions {
  std::vector<std::string> keys;  // members of a JSON object; a text has one key
  i32 eod = Tokenizer::kNone;     // appended to each document that has tokens; kNone: nothing
  bool split_sentences = false;   // each sentence is a sequence
  bool keep_newlines = false;     // with the white space after it
  bool skip_bad_lines = false;    // and count them
};

class DocumentEncoder {
 public:
  DocumentEncoder(const Tokenizer& tokenizer, DocumentOptions options);

  // An error names the file and the line.
  void encode(const InputChunk& chunk, EncodedChunk& out);

 private:
  void encode_lines(const InputChunk& chunk, EncodedChunk& out);
  void encode_whole(const InputChunk& chunk, EncodedChunk& out);
  void encode_line(InputKind kind, std::string_view line, EncodedChunk& out);
  void add_document(std::span<const std::string_view> texts, EncodedDocuments& out);
  void add_sequence(std::string_view text, EncodedDocuments& out);

  std::unique_ptr<TextEncoder> encoder_;
  DocumentOptions options_;
  SentenceSplitter splitter_;
  JsonObject json_;
  std::vector<std::vector<std::string_view>> texts_;  // of each key
  std::vector<std::string_view> sentences_;
};

}  // namespace megalith
