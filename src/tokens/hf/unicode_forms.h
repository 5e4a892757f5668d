// Unicode's normal forms and lower case as in Hugging Face tokenizers: forms of Unicode 9.0, lower case of 17.0.
#pragma once
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith::hf {

enum class Form { nfc, nfd, nfkc, nfkd };

// The normalized text: `text` itself if it is already normal, otherwise `room`. Invalid UTF-8 stays.
std::string_view normalize(Form form, std::string_view text, std::string& room);

void append_lower(std::string& out, u32 code_point);

// The end of the grapheme cluster that begins at `from`, in bytes.
size_t grapheme_end(std::string_view text, size_t from);

}  // namespace megalith::hf
