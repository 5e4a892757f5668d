#include "html_check.h"

#include <algorithm>
#include <regex>
#include <set>

namespace megalith::report {

namespace {

const std::set<std::string> kAlone = {"meta", "!DOCTYPE", "br", "wbr", "hr", "img", "link"};
const std::set<std::string> kRuns = {"script", "iframe", "object", "embed", "link", "img", "base", "form"};

// The position after the tag's ">". Quoted attributes may contain a ">".
std::size_t tag_end(const std::string& html, std::size_t at) {
  char quote = 0;
  for (; at < html.size(); ++at) {
    const char c = html[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return at + 1;
    } else if (c == '<') {
      return std::string::npos;
    }
  }
  return std::string::npos;
}

void look_at_attributes(const std::string& tag, ReadPage& page) {
  static const std::regex loads("\\s(src|href|srcset|data|action|xlink:href|on[a-z]+)\\s*=");
  for (std::sregex_iterator it(tag.begin(), tag.end(), loads), end; it != end; ++it) page.urls.push_back(tag);
}

}  // namespace

ReadPage read_page(const std::string& html) {
  ReadPage page;
  std::vector<std::string> open;
  for (std::size_t at = 0; page.mistake.empty() && (at = html.find('<', at)) != std::string::npos;) {
    const std::size_t end = tag_end(html, at + 1);
    if (end == std::string::npos) {
      page.mistake = "a tag without an end: " + html.substr(at, 60);
      break;
    }
    const std::string tag = html.substr(at, end - at);
    const bool closes = tag[1] == '/';
    const std::size_t from = closes ? 2 : 1;
    const std::string name = tag.substr(from, tag.find_first_of(" \t\n/>", from) - from);
    if (name.empty()) page.mistake = "no name: " + tag;
    look_at_attributes(tag, page);
    if (kRuns.contains(name)) page.scripts.push_back(tag);
    if (closes) {
      if (open.empty() || open.back() != name)
        page.mistake = tag + " closes " + (open.empty() ? "nothing" : open.back());
      else
        open.pop_back();
    } else if (!kAlone.contains(name) && !tag.ends_with("/>")) {
      open.push_back(name);
    }
    at = end;
    if (name != "style" || closes) continue;
    at = html.find("</style>", at);
    const std::string style = html.substr(end, at - end);
    if (style.find("url(") != std::string::npos || style.find("@import") != std::string::npos)
      page.urls.push_back("style");
  }
  if (page.mistake.empty() && !open.empty()) page.mistake = "still open: " + open.back();
  return page;
}

}  // namespace megalith::report
