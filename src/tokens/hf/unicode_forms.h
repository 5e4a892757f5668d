// Unicode's normal forms and lower case as Hugging Face tokenizers makes them: forms of Unicode 9.0, lower case
// of 17.0.
#pragma once
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith::hf {

enum class Form { nfc, nfd, nfkc, nfkd };

// The text in this form: `text` itself where it already is, else what is put into `room`. Bytes that are not UTF-8
// stay.
std::string_view normalize(Form form, std::string_view text, std::string& room);

void append_lower(std::string& out, u32 code_point);

// Sizes in bytes of the grapheme clusters of UTF-8 text: the end of the one that begins at `from`.
size_t grapheme_end(std::string_view text, size_t from);

}  // namespace megalith::hf
