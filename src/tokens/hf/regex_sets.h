// The sets of characters of Oniguruma's patterns, as members of a class for PCRE2: "\p{L}\x{1c89}-\x{1c8a}".
//
// The two differ in \s, \w, [:name:] and in what a script has, and PCRE2 may know an older Unicode: \p{...} gets the
// characters of its name that it lacks.
#pragma once
#include <string>
#include <string_view>

namespace megalith::hf {

std::string space_members();                          // of \s
std::string word_members();                           // of \w
std::string property_members(std::string_view name);  // of \p{name}
std::string posix_members(std::string_view name);     // of [:name:]; nothing if there is no such class
bool is_script(std::string_view name);                // whether PCRE2 knows it as one

}  // namespace megalith::hf
