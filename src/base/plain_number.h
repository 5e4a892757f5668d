// Numbers as Python writes them too: a + before them, and a _ between two digits.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// The number without these; other text stays as it is.
std::string plain_number(std::string_view text);

}  // namespace megalith
