// Cuts texts into sentences by rules, for --split-sentences. A sentence ends at . ! ? with closing quotes and brackets
// and white space behind it, or at one of the full stops of Chinese and Japanese. A full stop does not end one behind
// an English abbreviation or a single capital letter, nor any mark before a lower-case letter.
#pragma once
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class SentenceSplitter {
 public:
  // keep_space: white space between sentences belongs to the one before it, so that the sentences together are the
  // text; else it is dropped, also at the end of the text.
  explicit SentenceSplitter(bool keep_space) : keep_space_(keep_space) {}

  // Appends the sentences of the text, none of them empty, in order.
  void split(std::string_view text, std::vector<std::string_view>& out) const;

 private:
  bool keep_space_;
};

}  // namespace megalith
