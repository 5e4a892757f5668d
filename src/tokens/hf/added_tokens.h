// The added tokens of a tokenizer.json. They are found in the text first, some before normalization and some after
// it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tokens/hf/json.h"
#include "tokens/hf/normalizer.h"
#include "tokens/hf/vocabulary.h"
#include "tokens/special_tokens.h"

namespace megalith::hf {

struct AddedToken {
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, normalized = true, special = false;
  bool was_special = false;     // here, or in an earlier entry of the same content
  bool says_normalized = true;  // false: `normalized` follows `special`
  std::string decoded{};        // the decoded text: the content, normalized if the token is found in normalized text
  i32 id = -1;

  void make_special() {
    special = true;
    if (!says_normalized) normalized = false;
  }
  bool same_settings(const AddedToken& other) const {
    return content == other.content && single_word == other.single_word && lstrip == other.lstrip &&
           rstrip == other.rstrip && normalized == other.normalized && special == other.special;
  }
};
using AddedList = std::vector<AddedToken>;

// An object with "content" and settings. special: the default of its "special".
AddedToken read_added_token(const Json& item, bool special, std::string_view where);
// The "added_tokens" of a tokenizer.json, or null.
AddedList read_added_list(const Json& list, std::string_view where);

class AddedTokens {
 public:
  // A token of the vocabulary keeps its id, and other tokens get the next ids. Of equal contents the last settings
  // count. normalizer: may be nullptr. split_special: ignores tokens that any entry calls special.
  AddedTokens(const AddedList& list, const Vocabulary& v, Normalizer* normalizer, bool split_special);

  const std::vector<AddedToken>& tokens() const { return tokens_; }

  // Calls found(id, begin, end) for each token in the text, and plain(begin, end) for the text between tokens.
  // normalized: finds the tokens of normalized text.
  template <class Found, class Plain>
  void split(std::string_view text, bool normalized, Found&& found, Plain&& plain) const {
    const SpecialTokens& tokens = normalized ? in_normalized_ : in_raw_;
    size_t done = 0;
    for (size_t from = 0; !tokens.empty();) {
      SpecialTokens::Match m = tokens.find(text, from);
      if (m.begin == SpecialTokens::npos) break;
      from = m.end;
      const AddedToken& token = tokens_[size_t(m.value)];
      if ((split_special_ && token.was_special) || (token.single_word && !stands_alone(text, m))) continue;
      widen(text, token, done, m);
      if (m.begin >= m.end) continue;  // white space that belongs to the previous token
      if (done < m.begin) plain(done, m.begin);
      found(token.id, m.begin, m.end);
      done = m.end;
    }
    if (done < text.size()) plain(done, text.size());
  }

 private:
  void add(AddedToken token, const Vocabulary& v);
  static bool stands_alone(std::string_view text, const SpecialTokens::Match& m);
  static void widen(std::string_view text, const AddedToken& token, size_t done, SpecialTokens::Match& m);

  std::vector<AddedToken> tokens_;
  SpecialTokens in_raw_, in_normalized_;
  bool split_special_;
};

}  // namespace megalith::hf
