// What a tokenizer.json does to cut text into pieces: steps one after another, each cutting or rewriting every piece.
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

// Pieces of a text, in order; none is empty.
struct Pieces {
  struct Piece {
    size_t begin, end;
    bool first;  // begins where the whole input begins
  };
  std::string text;
  std::vector<Piece> pieces;

  std::string_view of(const Piece& p) const { return std::string_view(text).substr(p.begin, p.end - p.begin); }
};

// One per thread.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) = 0;
};

// How a delimiter found in the text is cut.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// The steps of a pre-tokenizer; no steps for null.
struct PreTokenizerPlan {
  std::vector<Json> steps;
  // The last step is "write each byte in GPT-2's alphabet", which a byte-level model can leave out; it is not in
  // `steps`.
  bool ends_in_byte_alphabet = false;
  // The steps are one cut by a pattern that has a scanner; then `steps` can be left out for it.
  SplitPattern pattern = SplitPattern::none;
};
// Fails, naming `where`, if there is a pre-tokenizer that we don't have.
PreTokenizerPlan plan_pre_tokenizer(const Json& spec, std::string_view where);

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Json& step, std::string_view where);
std::unique_ptr<PreTokenizer> make_byte_alphabet_step();

}  // namespace megalith::hf
