// Built-in chat formats.
#pragma once
#include <span>
#include <string_view>

namespace megalith::chat {

struct NamedFormat {
  std::string_view name, source;
  std::string_view marks;  // texts that must be single tokens, separated by spaces
};

std::span<const NamedFormat> named_formats();

}  // namespace megalith::chat
