// Markdown in lines of a given width.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// Breaks longer lines at spaces, but in no `code`, and so that no new line begins as a list or a heading would. What
// goes on is indented to the text of its list's item. A word that is longer than a line has one of its own.
std::string wrap_markdown(std::string_view text, size_t width);

}  // namespace megalith
