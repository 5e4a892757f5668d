// What templates can call: filters, tests, methods and functions.
#pragma once
#include <string>
#include <string_view>

#include "tokens/chat/call.h"
#include "tokens/chat/value.h"

namespace megalith::chat {

using Filter = Value (*)(const Value& input, Call& call);
using Test = bool (*)(const Value& input, Call& call);
using Method = Value (*)(const Value& object, Call& call);

// nullptr if the name is unknown.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
Method find_method(const Value& object, std::string_view name);
Method find_string_method(std::string_view name);
std::string filter_names();  // for errors
std::string test_names();

// value.name and value[key], which Jinja treats alike: undefined if missing, an error on an undefined value.
Value attribute_of(const Value& value, std::string_view name);
Value item_of(const Value& value, const Value& key);
// Arithmetic operators, ~ and comparisons. Not `and` and `or`, which may skip their right operand.
Value binary(std::string_view sign, const Value& a, const Value& b, Budget& budget);
// value[begin:end:step]; none for an omitted part.
Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step);

// namespace, range, dict, raise_exception. The caller adds strftime_now.
Dict global_functions();

}  // namespace megalith::chat
