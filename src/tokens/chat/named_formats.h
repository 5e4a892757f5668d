// Chat formats that need no file.
#pragma once
#include <span>
#include <string_view>

namespace megalith::chat {

struct NamedFormat {
  std::string_view name, source;
  std::string_view marks;  // texts that should be one token each, with spaces between
};

std::span<const NamedFormat> named_formats();

}  // namespace megalith::chat
