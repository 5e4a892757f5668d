// The filters of the files that hold them, and what several of these need.
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

std::string text_of(const Value& v, Call& c);  // Jinja makes a text of whatever comes
List list_of(const Value& v, Call& c);         // what a loop would go over; costs a step an item
// item.a.b of "a.b"; `otherwise` (nullptr: undefined) for what is not there.
Value at_path(const Value& item, const Value& path, const Value* otherwise = nullptr);

}  // namespace megalith::chat
