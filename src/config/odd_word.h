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

// What is odd about a word that is no flag and stands where one is wanted, or is no known one; empty if it is just
// another word.
std::string odd_word(std::string_view word);

}  // namespace megalith::config
