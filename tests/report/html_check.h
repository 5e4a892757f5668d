// Reads a page as a strict parser would: every tag that is opened is closed, in order, and no text holds a bare "<".
#pragma once
#include <string>
#include <vector>

namespace megalith::report {

struct ReadPage {
  std::string mistake{};               // the first; empty: none
  std::vector<std::string> urls{};     // of attributes that load something, and of url() and @import
  std::vector<std::string> scripts{};  // tags that would run something
};
ReadPage read_page(const std::string& html);

}  // namespace megalith::report
