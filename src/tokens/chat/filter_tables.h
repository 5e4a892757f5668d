// The filters of each file, and functions that several of them need.
#pragma once
#include <span>

#include "tokens/chat/builtins.h"

namespace megalith::chat {

struct FilterRow {
  std::string_view name;
  Filter filter;
};
std::span<const FilterRow> sequence_filters();
std::span<const FilterRow> text_filters();

std::string text_of(const Value& v, Call& c);  // converts any value to text, as Jinja does
List list_of(const Value& v, Call& c);         // the items that a loop would visit; each costs a step
// item.a.b for "a.b". `otherwise` (nullptr: undefined) for a missing value.
Value at_path(const Value& item, const Value& path, const Value* otherwise = nullptr);

}  // namespace megalith::chat
