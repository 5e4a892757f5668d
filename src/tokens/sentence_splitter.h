// Cuts texts into sentences by rules, for --split-sentences. A sentence ends at . ! ? with optional closing quotes
// and brackets, then white space, or at a full stop of Chinese or Japanese. A full stop after an English abbreviation
// or a single capital letter does not end it. Nor does any mark before a lower-case letter.
#pragma once
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class SentenceSplitter {
 public:
  // keep_space: white space between sentences belongs to the previous one, so the sentences together are the text.
  // Otherwise it is dropped, also at the end of the text.
  explicit SentenceSplitter(bool keep_space) : keep_space_(keep_space) {}

  // Appends the sentences of the text in order. None is empty.
  void split(std::string_view text, std::vector<std::string_view>& out) const;

 private:
  bool keep_space_;
};

}  // namespace megalith
