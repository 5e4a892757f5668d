// Turns chunks of input into tokens: what one worker of preprocess-data does.
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

// Documents of one key end to end: tokens, the lengths of their sequences, and how many sequences each document has.
struct EncodedDocuments {
  std::vector<i32> tokens;
  std::vector<i32> lengths;
  std::vector<i32> sequences;  // per document; 0 for text without tokens

  struct Size {
    size_t tokens = 0, lengths = 0, sequences = 0;
  };
  Size size() const { return {tokens.size(), lengths.size(), sequences.size()}; }
  void cut(Size s) { tokens.resize(s.tokens), lengths.resize(s.lengths), sequences.resize(s.sequences); }
};

// The documents of one chunk.
struct EncodedChunk {
  static constexpr size_t kMostTold = 100;

  std::vector<EncodedDocuments> keys;  // of each key, equally many
  i64 bad_lines = 0;
  std::vector<std::string> told;  // what was wrong with the first kMostTold of them, with file and line
};

struct DocumentOptions {
  std::vector<std::string> keys;  // members of a JSON object; text has one
  i32 eod = Tokenizer::kNone;     // appended to each document that has tokens; kNone: nothing
  bool split_sentences = false;   // each sentence is a sequence
  bool keep_newlines = false;     // with the white space behind it
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
