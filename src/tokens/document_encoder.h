// Turns chunks of input into tokens: what one worker of preprocess-data does.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/input_reader.h"
#include "tokens/json_text.h"
#include "tokens/tokenizer.h"

namespace megalith {

// Documents end to end: tokens, the lengths of their sequences, and how many sequences each document has.
struct EncodedDocuments {
  std::vector<i32> tokens;
  std::vector<i32> lengths;
  std::vector<i32> sequences;  // per document; 0 for text without tokens

  void clear() { tokens.clear(), lengths.clear(), sequences.clear(); }
};

class DocumentEncoder {
 public:
  // eod: appended to each document that has tokens; Tokenizer::kNone for none.
  DocumentEncoder(const Tokenizer& tokenizer, std::vector<std::string> keys, i32 eod);

  // out[k]: the documents of key k. An error names the file and the line.
  void encode(const InputChunk& chunk, std::vector<EncodedDocuments>& out);

 private:
  void encode_line(InputKind kind, std::string_view line, std::vector<EncodedDocuments>& out);
  void add_document(std::span<const std::string_view> sentences, EncodedDocuments& out);

  std::unique_ptr<TextEncoder> encoder_;
  std::vector<std::string> keys_;
  i32 eod_;
  JsonObject json_;
  std::vector<std::string_view> sentences_;
};

}  // namespace megalith
