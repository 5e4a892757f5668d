// Reads a page like a strict parser. Each open tag must be closed, in order, and no text may have an unescaped "<".
#pragma once
#include <string>
#include <vector>

namespace megalith::report {

struct ReadPage {
  std::string mistake{};               // the first error; empty: none
  std::vector<std::string> urls{};     // attributes that load resources, url() and @import
  std::vector<std::string> scripts{};  // tags that would execute code
};
ReadPage read_page(const std::string& html);

}  // namespace megalith::report
