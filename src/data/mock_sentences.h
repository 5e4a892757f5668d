// Generated documents for --mock-data of models that read sentences. Megatron has none.
#pragma once
#include <string>
#include <vector>

#include "data/token_source.h"

namespace megalith {

// 10000 documents of 4 to 19 sentences of 4 to 27 tokens each. The tokens of a document count up from its own start
// token, across sentences, modulo `tokens`.
class MockSentences : public TokenSource {
 public:
  explicit MockSentences(i64 tokens);  // it uses ids 0 .. tokens - 1. Error if there are none

  const std::string& name() const override { return name_; }
  i64 sequences() const override { return i64(begins_.size()) - 1; }
  i64 length(i64 sentence) const override {
    return begins_[std::size_t(sentence) + 1] - begins_[std::size_t(sentence)];
  }
  void read(i64 sentence, i64 offset, std::span<i32> out) const override;
  // The first sentence of each document, then the end.
  const std::vector<i64>& document_begins() const { return documents_; }

 private:
  std::string name_ = "mock data";
  i64 tokens_;
  std::vector<i64> begins_ = {0}, documents_ = {0};  // token offset of each sentence; first sentence of each document
};

}  // namespace megalith
