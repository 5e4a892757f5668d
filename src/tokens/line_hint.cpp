#include "tokens/line_hint.h"

#include "base/valid_utf8.h"

namespace megalith {

std::string line_hint(std::string_view line) {
  if (line.starts_with("\x1f\x8b")) return "it is packed by gzip: let the file's name end in .gz";
  if (line.starts_with("\x28\xb5\x2f\xfd")) return "it is packed by zstd: let the file's name end in .zst";
  if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff"))
    return "it is text in UTF-16: make it UTF-8 by iconv -f UTF-16 -t UTF-8";
  if (const std::string text(line); valid_utf8(text) != text)
    return "if it is Latin-1, make it UTF-8 by iconv -f LATIN1 -t UTF-8";
  const std::size_t begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  line = line.substr(begin, end - begin + 1);
  if (line.starts_with('[')) return "the file is one JSON array: make lines of it by jq -c '.[]'";
  if (line == "{") return "an object has several lines: make one line of each by jq -c .";
  if (line[0] != '{' && line[0] != '"' && !line.starts_with("\xef\xbb\xbf")) return "a file of plain text ends in .txt";
  return {};
}

}  // namespace megalith
