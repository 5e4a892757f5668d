// How a tokenizer.json cuts text into pieces: a sequence of steps, each of which cuts or rewrites every piece.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/hf/json.h"
#include "tokens/hf/regex.h"
#include "tokens/split_pattern.h"

namespace megalith::hf {

// Non-empty pieces of a text, in order.
struct Pieces {
  struct Piece {
    size_t begin, end;
    bool first;  // whether it is the start of the whole input
  };
  std::string text;
  std::vector<Piece> pieces;

  std::string_view of(const Piece& p) const { return std::string_view(text).substr(p.begin, p.end - p.begin); }
};

// Each thread needs its own.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) = 0;
};

// What happens to a delimiter in the text.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// The steps of a pre-tokenizer; no steps for null.
struct PreTokenizerPlan {
  std::vector<Json> steps;
  // Whether the last step writes each byte in GPT-2's alphabet. It is not in `steps`, because a byte-level model does
  // not need it.
  bool ends_in_byte_alphabet = false;
  // The pattern, if the steps are one cut by a pattern that has a scanner. The scanner replaces `steps`.
  SplitPattern pattern = SplitPattern::none;
};
// Fails, naming `where`, on an unsupported pre-tokenizer.
PreTokenizerPlan plan_pre_tokenizer(const Json& spec, std::string_view where);

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& step, std::string_view where);
std::unique_ptr<PreTokenizer> make_byte_alphabet_step();

}  // namespace megalith::hf
