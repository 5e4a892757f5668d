// Fill-in-the-middle: documents are cut into three and reordered, so that a next-token model learns to fill in text
// between two others. Bavarian and others, "Efficient Training of Language Models to Fill in the Middle" (2022), as
// Megatron's GPTFIMDataset does it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/config.h"
#include "data/numpy_random.h"

namespace megalith {

// What this needs of a tokenizer. May be called by several threads.
struct FimText {
  std::function<i32(const std::string& token)> find;               // the id of this token; -1: there is none
  std::function<std::string(std::span<const i32> tokens)> decode;  // valid UTF-8
  std::function<std::vector<i32>(std::string_view text)> encode;   // puts nothing around the text
};

// A TextEdit. Documents are what lies between two end-of-document tokens; each is changed with probability `rate`:
//   prefix-suffix-middle: <prefix> prefix <suffix> suffix <middle> middle
//   suffix-prefix-middle: <prefix> <suffix> suffix <middle> prefix middle, with probability `spm_rate`
// where the two cuts lie between any two characters. With `split_sample` a document that holds this token is changed
// with probability `rate`, and then each fragment between two of them with `fragment_rate`.
//
// Sample k draws from RandomState(seed + k), as Megatron's BERT samples do, in the order of its FIM: change or not, two
// cuts, form. So a sample is the same whoever reads it, and when.
class FillInTheMiddle {
 public:
  // Error if the tokenizer lacks one of the tokens: names its flag.
  FillInTheMiddle(FimConfig config, i64 seed, FimText text);

  // The sample keeps its length: the end is truncated or padded.
  void operator()(i64 sample, std::vector<i32>& tokens) const;

 private:
  i32 id_of(const char* flag, const std::string& token) const;
  // Each appends what becomes of `tokens` to `out`.
  void document(std::span<const i32> tokens, RandomState& random, std::vector<i32>& out) const;
  void fragment(std::span<const i32> tokens, double rate, RandomState& random, std::vector<i32>& out) const;

  FimConfig config_;
  i64 seed_;
  FimText text_;
  i32 prefix_, middle_, suffix_, pad_, eod_, split_;  // ids; split_ -1: documents are not split
};

}  // namespace megalith
