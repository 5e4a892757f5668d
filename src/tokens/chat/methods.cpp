// Methods of strings and mappings, as Python's; and the functions of templates.
#include <algorithm>

#include "tokens/chat/builtins.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

std::string_view self(const Value& v) { return *v.string(); }

Value texts(const std::vector<std::string_view>& parts, Call& c) {
  c.budget.spend_steps(i64(parts.size()));
  List out;
  for (const std::string_view part : parts) out.emplace_back(part);
  return out;
}

// Python's positions count characters; find gives bytes.
Value position(std::string_view text, size_t at) {
  return at == std::string_view::npos ? i64{-1} : count_characters(text.substr(0, at));
}

bool any_of(const Value& fixes, const std::function<bool(std::string_view)>& holds) {
  if (fixes.string()) return holds(*fixes.string());
  check(fixes.list() != nullptr, "startswith and endswith need a string, or several, not {}", fixes.kind());
  return std::ranges::any_of(*fixes.list(), [&](const Value& v) {
    check(v.string() != nullptr, "startswith and endswith need strings, not {}", v.kind());
    return holds(*v.string());
  });
}

struct MethodRow {
  std::string_view name;
  Method method;
};

constexpr MethodRow kStringMethods[] = {
    {"capitalize", [](const Value& v, Call&) -> Value { return capitalize(self(v)); }},
    {"count",
     [](const Value& v, Call& c) -> Value {
       const std::string_view what = c.text(0, "sub");
       if (what.empty()) return count_characters(self(v)) + 1;
       return i64(split(self(v), what, -1, false).size()) - 1;
     }},
    {"endswith",
     [](const Value& v, Call& c) -> Value {
       c.at_most(1);
       return any_of(c.at(0, "suffix"), [&](std::string_view s) { return self(v).ends_with(s); });
     }},
    {"find",
     [](const Value& v, Call& c) -> Value {
       c.at_most(1);
       return position(self(v), self(v).find(c.text(0, "sub")));
     }},
    {"isdigit",
     [](const Value& v, Call&) -> Value {
       return !self(v).empty() && std::ranges::all_of(self(v), [](char d) { return d >= '0' && d <= '9'; });
     }},
    {"join",
     [](const Value& v, Call& c) -> Value {
       std::string out;
       bool first = true;
       for (const Value& item : items_of(c.at(0, "iterable"))) {
         check(item.string() != nullptr, "join needs strings, not {}", item.kind());
         if (!first) out += self(v);
         first = false;
         out += *item.string();
         check_size(out.size());
       }
       return out;
     }},
    {"lower", [](const Value& v, Call&) -> Value { return lower(self(v)); }},
    {"lstrip", [](const Value& v, Call& c) -> Value { return strip_left(self(v), c.text(0, "chars", {})); }},
    {"removeprefix",
     [](const Value& v, Call& c) -> Value {
       const std::string_view fix = c.text(0, "prefix");
       return self(v).substr(self(v).starts_with(fix) ? fix.size() : 0);
     }},
    {"removesuffix",
     [](const Value& v, Call& c) -> Value {
       const std::string_view fix = c.text(0, "suffix");
       return self(v).substr(0, self(v).size() - (self(v).ends_with(fix) ? fix.size() : 0));
     }},
    {"replace",
     [](const Value& v, Call& c) -> Value {
       return replace_all(self(v), c.text(0, "old"), c.text(1, "new"), c.whole(2, "count", -1));
     }},
    {"rfind",
     [](const Value& v, Call& c) -> Value {
       c.at_most(1);
       return position(self(v), self(v).rfind(c.text(0, "sub")));
     }},
    {"rsplit",
     [](const Value& v, Call& c) -> Value {
       return texts(split(self(v), c.text(0, "sep", {}), c.whole(1, "maxsplit", -1), true), c);
     }},
    {"rstrip", [](const Value& v, Call& c) -> Value { return strip_right(self(v), c.text(0, "chars", {})); }},
    {"split",
     [](const Value& v, Call& c) -> Value {
       return texts(split(self(v), c.text(0, "sep", {}), c.whole(1, "maxsplit", -1), false), c);
     }},
    {"startswith",
     [](const Value& v, Call& c) -> Value {
       c.at_most(1);
       return any_of(c.at(0, "prefix"), [&](std::string_view s) { return self(v).starts_with(s); });
     }},
    {"strip", [](const Value& v, Call& c) -> Value { return strip(self(v), c.text(0, "chars", {})); }},
    {"title", [](const Value& v, Call&) -> Value { return title(self(v)); }},
    {"upper", [](const Value& v, Call&) -> Value { return upper(self(v)); }},
};

constexpr MethodRow kDictMethods[] = {
    {"get",
     [](const Value& v, Call& c) -> Value {
       const Value* otherwise = c.find(1, "default");
       const Value* found = c.at(0, "key").string() ? v.dict()->find(c.text(0, "key")) : nullptr;
       return found ? *found : otherwise ? *otherwise : Value(None{});
     }},
    {"items", [](const Value& v, Call& c) -> Value { return find_filter("items")(v, c); }},
    {"keys", [](const Value& v, Call& c) -> Value { return find_filter("list")(v, c); }},
    {"values",
     [](const Value& v, Call& c) -> Value {
       c.budget.spend_steps(i64(v.dict()->items.size()));
       List out;
       for (const auto& item : v.dict()->items) out.push_back(item.second);
       return out;
     }},
};

Dict dict_of(Call& c) {
  c.at_most(1);
  Dict out;
  if (!c.arguments.empty()) {
    check(c.arguments[0].dict() != nullptr, "{} needs a mapping, not {}", c.name, c.arguments[0].kind());
    out = *c.arguments[0].dict();
  }
  for (const auto& [key, value] : c.named) out.set(key, value);
  c.budget.spend_steps(i64(out.items.size()));
  return out;
}

Value make_namespace(Call& c) {
  auto values = std::make_shared<Dict>(dict_of(c));
  for (const auto& [key, value] : values->items)
    check(!value.holds_namespace(), "{}: a namespace cannot hold a namespace", key);
  return Value::Namespace{std::move(values)};
}

Value range(Call& c) {
  check(!c.arguments.empty() && c.arguments.size() <= 3, "range takes one to three whole numbers");
  const bool one = c.arguments.size() == 1;
  const i64 begin = one ? 0 : c.whole(0, "start", 0), end = c.whole(one ? 0 : 1, "stop", 0),
            step = c.whole(2, "step", 1);
  check(step != 0, "the step of range is 0");
  List out;
  for (i64 i = begin; step > 0 ? i < end : i > end;) {
    c.budget.spend_steps(1);
    out.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return out;
}

}  // namespace

Method find_method(const Value& object, std::string_view name) {
  const auto find = [&](const auto& rows) {
    const auto row = std::ranges::find(rows, name, &MethodRow::name);
    return row == std::end(rows) ? nullptr : row->method;
  };
  if (object.string()) return find(kStringMethods);
  return object.as<Value::DictPtr>() ? find(kDictMethods) : nullptr;
}

Dict global_functions() {
  Dict out;
  out.set("namespace", Function(make_namespace));
  out.set("range", Function(range));
  out.set("dict", Function([](Call& c) -> Value { return dict_of(c); }));
  out.set("raise_exception",
          Function([](Call& c) -> Value { fail("the template refuses this: {}", to_text(c.at(0, "message"))); }));
  return out;
}

}  // namespace megalith::chat
