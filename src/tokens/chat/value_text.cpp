// Values as text: Python's str() and repr(), JSON.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "tokens/chat/python_text.h"
#include "tokens/chat/value.h"

namespace megalith::chat {

namespace {

void append_repr(const Value& v, std::string& out) {
  if (const auto* s = v.string()) {
    out += repr(*s);
  } else if (const auto* l = v.list()) {
    out += '[';
    for (size_t i = 0; i < l->size(); ++i) append_repr((*l)[i], out += i ? ", " : "");
    out += ']';
  } else if (const auto* d = v.as<Value::DictPtr>()) {
    out += '{';
    for (size_t i = 0; i < (*d)->items.size(); ++i) {
      out.append(i ? ", " : "").append(repr((*d)->items[i].first)).append(": ");
      append_repr((*d)->items[i].second, out);
    }
    out += '}';
  } else {
    check(!v.undefined(), "an undefined value cannot be shown in a list or mapping");
    out += to_text(v);
  }
}

class JsonWriter {
 public:
  JsonWriter(i64 indent, bool sorted) : indent_(indent), sorted_(sorted) {}

  void write(const Value& v, i64 depth) {
    if (const auto* s = v.string()) {
      out += json_string(*s);
    } else if (const auto* l = v.list()) {
      sequence('[', ']', l->size(), depth, [&](size_t i) { write((*l)[i], depth + 1); });
    } else if (const auto* d = v.as<Value::DictPtr>()) {
      Pairs items = (*d)->items;
      if (sorted_) std::ranges::stable_sort(items, {}, &Pairs::value_type::first);
      sequence('{', '}', items.size(), depth, [&](size_t i) {
        out.append(json_string(items[i].first)).append(": ");
        write(items[i].second, depth + 1);
      });
    } else if (const auto* b = v.as<bool>()) {
      out += *b ? "true" : "false";
    } else if (v.none()) {
      out += "null";
    } else {
      double number = 0;
      check(v.number(number), "{} cannot be written as JSON", v.kind());
      out += to_text(v);
    }
  }

  std::string out;

 private:
  template <class F>
  void sequence(char open, char close, size_t count, i64 depth, F&& item) {
    out += open;
    for (size_t i = 0; i < count; ++i) {
      if (i) out += indent_ < 0 ? ", " : ",";
      new_line(depth + 1);
      item(i);
    }
    if (count) new_line(depth);
    out += close;
  }
  void new_line(i64 depth) {
    if (indent_ >= 0) out.append("\n").append(size_t(indent_ * depth), ' ');
    check_size(out.size());
  }

  i64 indent_;
  bool sorted_;
};

}  // namespace

std::string to_text(const Value& v) {
  if (const auto* s = v.string()) return *s;
  if (v.undefined()) return "";
  if (v.none()) return "None";
  if (const auto* b = v.as<bool>()) return *b ? "True" : "False";
  if (const auto* i = v.as<i64>()) return std::to_string(*i);
  if (const auto* d = v.as<double>()) return repr(*d);
  check(v.list() || v.as<Value::DictPtr>(), "{} cannot be shown", v.kind());
  std::string out;
  append_repr(v, out);
  return out;
}

std::string to_json(const Value& value, i64 indent, bool sorted) {
  JsonWriter writer(indent, sorted);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace megalith::chat
