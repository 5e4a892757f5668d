// The character sets of Oniguruma's patterns, as members of a PCRE2 class: "\p{L}\x{1c89}-\x{1c8a}". The two engines
// differ in \s, \w, [:name:] and in scripts. PCRE2 may have an older Unicode, so \p{...} also gets the characters
// that it lacks.
#pragma once
#include <string>
#include <string_view>

namespace megalith::hf {

std::string space_members();                          // of \s
std::string word_members();                           // of \w
std::string property_members(std::string_view name);  // of \p{name}
std::string posix_members(std::string_view name);     // of [:name:]; empty if there is no such class
bool is_script(std::string_view name);                // whether PCRE2 knows it as a script

}  // namespace megalith::hf
