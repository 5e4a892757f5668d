// Fill-in-the-middle: documents are cut into three parts and reordered, so that a next-token model learns to fill in
// text. Bavarian and others, "Efficient Training of Language Models to Fill in the Middle" (2022), as in Megatron's
// GPTFIMDataset.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/config.h"
#include "data/numpy_random.h"

namespace megalith {

// The functions of a tokenizer that FIM needs. Several threads may call them.
struct FimText {
  std::function<i32(const std::string& token)> find;               // id of a token; -1: it does not exist
  std::function<std::string(std::span<const i32> tokens)> decode;  // valid UTF-8
  std::function<std::vector<i32>(std::string_view text)> encode;   // encodes without special tokens
};

// A TextEdit. A document is the range between two end-of-document tokens. Each is changed with probability `rate` to
// one of:
//   prefix-suffix-middle: <prefix> prefix <suffix> suffix <middle> middle
//   suffix-prefix-middle: <prefix> <suffix> suffix <middle> prefix middle, with probability `spm_rate`
// The two cuts are between any two characters. With `split_sample`, a document that has this token is changed with
// probability `rate`. Then each fragment between two of these tokens is changed with probability `fragment_rate`.
//
// Sample k draws from RandomState(seed + k), like Megatron's BERT samples, in the order of Megatron's FIM: change or
// not, two cuts, form. So a sample does not depend on who reads it, or when.
class FillInTheMiddle {
 public:
  // Error, with the flag's name, if the tokenizer lacks one of the tokens.
  FillInTheMiddle(FimConfig config, i64 seed, FimText text);

  // Keeps the length of the sample: its end is truncated or padded.
  void operator()(i64 sample, std::vector<i32>& tokens) const;

 private:
  i32 id_of(const char* flag, const std::string& token) const;
  // Each appends the changed `tokens` to `out`.
  void document(std::span<const i32> tokens, RandomState& random, std::vector<i32>& out) const;
  void fragment(std::span<const i32> tokens, double rate, RandomState& random, std::vector<i32>& out) const;

  FimConfig config_;
  i64 seed_;
  FimText text_;
  i32 prefix_, middle_, suffix_, pad_, eod_, split_;  // token ids; split_ -1: documents are not split
};

}  // namespace megalith
