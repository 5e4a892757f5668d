// `value is ..`
#include <fmt/ranges.h>

#include <algorithm>

#include "tokens/chat/builtins.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

i64 whole(const Value& v, Call& c) {
  i64 i = 0;
  check(v.whole(i), "{} needs a whole number, not {}", c.name, v.kind());
  return i;
}
bool is_mapping(const Value& v) { return v.as<Value::DictPtr>() != nullptr; }
bool is_number(const Value& v) {
  double d = 0;
  return v.number(d) || v.as<BigWhole>();
}
bool is_case(const Value& v, std::string (*change)(std::string_view), std::string (*other)(std::string_view)) {
  const std::string text = to_text(v);
  return change(text) == text && other(text) != text;
}

struct TestRow {
  std::string_view name;
  Test test;
};
constexpr TestRow kTests[] = {
    {"==", [](const Value& v, Call& c) { return equal(v, c.at(0, "other")); }},
    {"!=", [](const Value& v, Call& c) { return !equal(v, c.at(0, "other")); }},
    {">", [](const Value& v, Call& c) { return less(c.at(0, "other"), v); }},
    {"greaterthan", [](const Value& v, Call& c) { return less(c.at(0, "other"), v); }},
    {">=", [](const Value& v, Call& c) { return !less(v, c.at(0, "other")); }},
    {"<", [](const Value& v, Call& c) { return less(v, c.at(0, "other")); }},
    {"lessthan", [](const Value& v, Call& c) { return less(v, c.at(0, "other")); }},
    {"<=", [](const Value& v, Call& c) { return !less(c.at(0, "other"), v); }},
    {"boolean", [](const Value& v, Call&) { return v.as<bool>() != nullptr; }},
    {"callable", [](const Value& v, Call&) { return v.as<Value::FunctionPtr>() != nullptr; }},
    {"defined", [](const Value& v, Call&) { return !v.undefined(); }},
    {"divisibleby",
     [](const Value& v, Call& c) {
       const i64 n = whole(c.at(0, "num"), c);
       check(n != 0, "division by zero");
       return n == -1 || whole(v, c) % n == 0;
     }},
    {"eq", [](const Value& v, Call& c) { return equal(v, c.at(0, "other")); }},
    {"equalto", [](const Value& v, Call& c) { return equal(v, c.at(0, "other")); }},
    {"even", [](const Value& v, Call& c) { return whole(v, c) % 2 == 0; }},
    {"false", [](const Value& v, Call&) { return v.as<bool>() && !v.truth(); }},
    {"float", [](const Value& v, Call&) { return v.as<double>() != nullptr; }},
    {"ge", [](const Value& v, Call& c) { return !less(v, c.at(0, "other")); }},
    {"gt", [](const Value& v, Call& c) { return less(c.at(0, "other"), v); }},
    {"in", [](const Value& v, Call& c) { return contains(c.at(0, "seq"), v); }},
    {"integer", [](const Value& v, Call&) { return v.as<i64>() || v.as<BigWhole>(); }},
    {"iterable", [](const Value& v, Call&) { return v.string() || v.list() || is_mapping(v) || v.undefined(); }},
    {"le", [](const Value& v, Call& c) { return !less(c.at(0, "other"), v); }},
    {"lower", [](const Value& v, Call&) { return is_case(v, lower, upper); }},
    {"lt", [](const Value& v, Call& c) { return less(v, c.at(0, "other")); }},
    {"mapping", [](const Value& v, Call&) { return is_mapping(v); }},
    {"ne", [](const Value& v, Call& c) { return !equal(v, c.at(0, "other")); }},
    {"none", [](const Value& v, Call&) { return v.none(); }},
    {"number", [](const Value& v, Call&) { return is_number(v); }},
    {"odd", [](const Value& v, Call& c) { return whole(v, c) % 2 != 0; }},
    {"sameas",
     [](const Value& v, Call& c) { return v.kind() == c.at(0, "other").kind() && equal(v, c.at(0, "other")); }},
    {"sequence", [](const Value& v, Call&) { return v.string() || v.list() || is_mapping(v) || v.undefined(); }},
    {"string", [](const Value& v, Call&) { return v.string() != nullptr; }},
    {"true", [](const Value& v, Call&) { return v.as<bool>() && v.truth(); }},
    {"undefined", [](const Value& v, Call&) { return v.undefined(); }},
    {"upper", [](const Value& v, Call&) { return is_case(v, upper, lower); }},
};

}  // namespace

Test find_test(std::string_view name) {
  const auto row = std::ranges::find(kTests, name, &TestRow::name);
  return row == std::end(kTests) ? nullptr : row->test;
}

std::string test_names() {
  std::vector<std::string_view> names;
  for (const TestRow& row : kTests) names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace megalith::chat
