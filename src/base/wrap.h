// Markdown in lines of a given width.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// Breaks long lines at spaces outside of `code`. No new line looks like a list item or a heading. Continuation lines
// have the indent of their list item's text. A word longer than a line gets its own line.
std::string wrap_markdown(std::string_view text, size_t width);

}  // namespace megalith
