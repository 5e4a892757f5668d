// Python's methods of lists and mappings, and the functions of templates.
#include <algorithm>

#include "tokens/chat/builtins.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

struct MethodRow {
  std::string_view name;
  Method method;
};

constexpr MethodRow kListMethods[] = {
    {"copy", [](const Value& v, Call&) { return v; }},
    {"count",
     [](const Value& v, Call& c) -> Value {
       const Value& what = c.at(0, "value");
       return i64(std::ranges::count_if(*v.list(), [&](const Value& item) { return equal(item, what); }));
     }},
    {"index",
     [](const Value& v, Call& c) -> Value {
       const Value& what = c.at(0, "value");
       const auto found = std::ranges::find_if(*v.list(), [&](const Value& item) { return equal(item, what); });
       check(found != v.list()->end(), "index does not find it in the list");
       return i64(found - v.list()->begin());
     }},
};

constexpr MethodRow kDictMethods[] = {
    {"copy", [](const Value& v, Call&) { return v; }},
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
  if (object.string()) return find_string_method(name);
  if (object.list()) return find(kListMethods);
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
