// Values as text: Python's str() and repr(), and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tokens/chat/python_text.h"
#include "tokens/chat/value.h"

namespace megalith::chat {

namespace {

void append_repr(const Value& v, std::string& out) {
  if (const auto* s = v.string()) {
    out += repr(*s);
  } else if (const auto* l = v.list()) {
    out += v.is_tuple() ? '(' : '[';
    for (size_t i = 0; i < l->size(); ++i) append_repr((*l)[i], out += i ? ", " : "");
    if (v.is_tuple() && l->size() == 1) out += ',';
    out += v.is_tuple() ? ')' : ']';
  } else if (const auto* d = v.as<Value::DictPtr>()) {
    out += '{';
    for (size_t i = 0; i < (*d)->items.size(); ++i) {
      out.append(i ? ", " : "").append(repr((*d)->items[i].first)).append(": ");
      append_repr((*d)->items[i].second, out);
    }
    out += '}';
  } else {
    out += v.undefined() ? "Undefined" : to_text(v);
  }
}

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void write(const Value& v, i64 depth) {
    if (const auto* s = v.string()) {
      out += json_string(*s, style_.ascii);
    } else if (const auto* l = v.list()) {
      sequence('[', ']', l->size(), depth, [&](size_t i) { write((*l)[i], depth + 1); });
    } else if (const auto* d = v.as<Value::DictPtr>()) {
      Pairs items = (*d)->items;
      if (style_.sorted) std::ranges::stable_sort(items, {}, &Pairs::value_type::first);
      sequence('{', '}', items.size(), depth, [&](size_t i) {
        out.append(json_string(items[i].first, style_.ascii)).append(style_.behind_key);
        write(items[i].second, depth + 1);
      });
    } else if (const auto* b = v.as<bool>()) {
      out += *b ? "true" : "false";
    } else if (v.none()) {
      out += "null";
    } else {
      double number = 0;
      check(v.number(number) || v.as<BigWhole>(), "{} cannot be written as JSON", v.kind());
      out += std::isnan(number) ? "NaN" : std::isinf(number) ? number > 0 ? "Infinity" : "-Infinity" : to_text(v);
    }
  }

  std::string out;

 private:
  template <class F>
  void sequence(char open, char close, size_t count, i64 depth, F&& item) {
    out += open;
    for (size_t i = 0; i < count; ++i) {
      if (i) out += style_.between;
      new_line(depth + 1);
      item(i);
    }
    if (count) new_line(depth);
    out += close;
  }
  void new_line(i64 depth) {
    if (style_.indent) out += '\n';
    for (i64 k = 0; style_.indent && k < depth; ++k) out += *style_.indent;
    check_size(out.size());
  }

  const JsonStyle& style_;
};

}  // namespace

std::string to_text(const Value& v) {
  if (const auto* s = v.string()) return *s;
  if (v.undefined()) return "";
  if (v.none()) return "None";
  if (const auto* b = v.as<bool>()) return *b ? "True" : "False";
  if (const auto* i = v.as<i64>()) return std::to_string(*i);
  if (const auto* d = v.as<double>()) return repr(*d);
  if (const auto* w = v.as<BigWhole>()) return w->digits;
  check(v.list() || v.as<Value::DictPtr>(), "{} cannot be shown", v.kind());
  std::string out;
  append_repr(v, out);
  return out;
}

std::string to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace megalith::chat
