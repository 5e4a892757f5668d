// Words that a shell or an editor has spoilt.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace megalith::config {

// Error where a word ends in a carriage return, as all last words of lines do in a script with Windows line ends.
void check_line_ends(std::span<const std::string> words);

// A text that is quoted by such quotes may be meant so, as one with blanks.
bool has_typographic_quotes(std::string_view word);

// The problem with a word that is in a flag's place but is no flag, or no known one. Empty if it is just another
// word.
std::string odd_word(std::string_view word);

}  // namespace megalith::config
