// Words that a shell or an editor has spoilt.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace megalith::config {

// Error if a word ends in a carriage return. In a script with Windows line ends, the last word of each line does.
void check_line_ends(std::span<const std::string> words);

// Text with typographic quotes around it, or with blanks, may be intended.
bool has_typographic_quotes(std::string_view word);

// The problem with a word that is in a flag's place but is no flag, or no known one. Empty if it is just another
// word.
std::string odd_word(std::string_view word);

}  // namespace megalith::config
