// Jinja's filters, as far as chat templates use them.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tokens/chat/filter_tables.h"
#include "tokens/chat/python_format.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

std::string text_of(const Value& v, Call& c) {
  std::string text = to_text(v);
  c.budget.spend(i64(text.size()));
  return text;
}
List list_of(const Value& v, Call& c) {
  c.budget.spend_steps(v.string() || v.list() || v.dict() ? length_of(v) : 1);
  return items_of(v);
}

namespace {

template <std::string (*f)(std::string_view)>
Value change_case(const Value& v, Call& c) {
  return f(text_of(v, c));
}

// Jinja's rule: a word begins after white space, - and opening brackets.
Value title_words(const Value& v, Call& c) {
  std::string out, text = text_of(v, c);
  bool begins = true;
  for (const std::string_view letter : characters(text)) {
    out += begins ? upper(letter) : lower(letter);
    begins = strip(letter).empty() || std::string_view("-({[<").find(letter) != std::string_view::npos;
  }
  return out;
}

Value trim(const Value& v, Call& c) { return strip(text_of(v, c), c.text(0, "chars", {})); }
Value length(const Value& v, Call&) { return length_of(v); }

// tojson(ensure_ascii, indent, separators, sort_keys), as in transformers.
Value json(const Value& v, Call& c) {
  for (const auto& [name, _] : c.named)
    check(name == "ensure_ascii" || name == "indent" || name == "separators" || name == "sort_keys",
          "tojson has no argument {}", name);
  c.at_most(4);
  const auto holds = [&](size_t place, std::string_view name) {
    const Value* given = c.find(place, name);
    return given && given->truth();
  };
  JsonStyle style{.ascii = holds(0, "ensure_ascii"), .sorted = holds(3, "sort_keys")};
  const Value* indent = c.find(1, "indent");
  if (indent && !indent->none()) {
    const i64 spaces = indent->string() ? 0 : c.whole(1, "indent", 0);
    check(spaces <= 16, "tojson indents by 16 at most, not {}", spaces);
    style.indent = indent->string() ? *indent->string() : std::string(size_t(std::max<i64>(spaces, 0)), ' ');
    style.between = ",";
  }
  const Value* separators = c.find(2, "separators");
  if (separators && !separators->none()) {
    const List* two = separators->list();
    check(two && two->size() == 2 && (*two)[0].string() && (*two)[1].string(),
          "the separators of tojson are two strings, not {}", separators->kind());
    style.between = *(*two)[0].string(), style.behind_key = *(*two)[1].string();
  }
  std::string text = to_json(v, style);
  c.budget.spend(i64(text.size()));
  return text;
}

Value otherwise(const Value& v, Call& c) {
  const Value* falsy = c.find(1, "boolean");
  if (!v.undefined() && !(falsy && falsy->truth() && !v.truth())) return v;
  const Value* value = c.find(0, "default_value");
  return value ? *value : Value(std::string());
}

Value join(const Value& v, Call& c) {
  const std::string separator = to_text(c.find(0, "d") ? c.at(0, "d") : Value(std::string()));
  std::string out;
  bool first = true;
  for (const Value& item : list_of(v, c)) {
    if (!first) out += separator;
    first = false;
    const Value* attribute = c.find(1, "attribute");
    out += text_of(attribute && !attribute->none() ? at_path(item, *attribute) : item, c);
    check_size(out.size());
  }
  return out;
}

Value first(const Value& v, Call& c) {
  const List items = list_of(v, c);
  return items.empty() ? Value(Undefined{"the first of nothing"}) : items.front();
}
Value last(const Value& v, Call& c) {
  const List items = list_of(v, c);
  return items.empty() ? Value(Undefined{"the last of nothing"}) : items.back();
}
Value as_list(const Value& v, Call& c) { return list_of(v, c); }

Value items(const Value& v, Call& c) {
  if (v.undefined()) return List{};
  check(v.dict() != nullptr, "items needs a mapping, not {}", v.kind());
  c.budget.spend_steps(i64(v.dict()->items.size()));
  List out;
  for (const auto& [key, value] : v.dict()->items) out.push_back(Value::tuple({Value(key), value}));
  return out;
}

Value string(const Value& v, Call& c) { return text_of(v, c); }

Value to_int(const Value& v, Call& c) {
  i64 i = 0;
  double d = 0;
  if (v.whole(i)) return i;
  if (v.number(d) && std::abs(d) < 9e18) return i64(d);
  if (v.string()) {
    const std::string_view text = strip(*v.string());
    const auto [end, error] = std::from_chars(text.data() + text.starts_with('+'), text.data() + text.size(), i);
    if (error == std::errc() && end == text.data() + text.size()) return i;
    if (float_of(text, d) && std::abs(d) < 9e18) return i64(d);
  }
  return c.whole(0, "default", 0);
}

Value replace(const Value& v, Call& c) {
  const std::string text = text_of(v, c);
  std::string out = replace_all(text, c.text(0, "old"), c.text(1, "new"), c.whole(2, "count", -1));
  c.budget.spend(i64(out.size()));
  return out;
}

Value reverse(const Value& v, Call& c) {
  List items = list_of(v, c);
  std::ranges::reverse(items);
  if (!v.string()) return items;
  std::string out;
  for (const Value& item : items) out += *item.string();
  return out;
}

// The remaining arguments of a call whose first ones name another function.
Call rest(const Call& c, size_t taken, std::string_view name) {
  return {name, {c.arguments.begin() + std::ptrdiff_t(taken), c.arguments.end()}, c.named, c.budget};
}

Value map(const Value& v, Call& c) {
  const Value* attribute = c.arguments.empty() ? c.find(0, "attribute") : nullptr;
  List out;
  if (attribute) {
    for (const Value& item : list_of(v, c)) {
      const Value* otherwise = c.find(1, "default");
      out.push_back(at_path(item, *attribute, otherwise && !otherwise->none() ? otherwise : nullptr));
    }
    return out;
  }
  const std::string_view name = c.text(0, "name");
  const Filter f = find_filter(name);
  check(f != nullptr, "the filter {} is not supported: {}", name, filter_names());
  Call inner = rest(c, 1, name);
  for (const Value& item : list_of(v, c)) out.push_back(f(item, inner));
  return out;
}

// select and reject, also by an attribute: the items for which the test has the wanted result.
Value choose(const Value& v, Call& c, bool attribute, bool wanted) {
  const size_t at = attribute ? 1 : 0;
  const bool named = c.arguments.size() > at;
  const std::string_view name = named ? c.text(at, "test") : "";
  const Test test = named ? find_test(name) : [](const Value& item, Call&) { return item.truth(); };
  check(test != nullptr, "the test {} is not supported: {}", name, test_names());
  Call inner = rest(c, std::min(at + 1, c.arguments.size()), name);
  List out;
  for (const Value& item : list_of(v, c))
    if (test(attribute ? at_path(item, c.at(0, "attribute")) : item, inner) == wanted) out.push_back(item);
  return out;
}
Value select(const Value& v, Call& c) { return choose(v, c, false, true); }
Value reject(const Value& v, Call& c) { return choose(v, c, false, false); }
Value selectattr(const Value& v, Call& c) { return choose(v, c, true, true); }
Value rejectattr(const Value& v, Call& c) { return choose(v, c, true, false); }

constexpr FilterRow kFilters[] = {{"capitalize", change_case<capitalize>},
                                  {"count", length},
                                  {"d", otherwise},
                                  {"default", otherwise},
                                  {"first", first},
                                  {"int", to_int},
                                  {"items", items},
                                  {"join", join},
                                  {"last", last},
                                  {"length", length},
                                  {"list", as_list},
                                  {"lower", change_case<lower>},
                                  {"map", map},
                                  {"reject", reject},
                                  {"rejectattr", rejectattr},
                                  {"replace", replace},
                                  {"reverse", reverse},
                                  {"safe", string},
                                  {"select", select},
                                  {"selectattr", selectattr},
                                  {"string", string},
                                  {"title", title_words},
                                  {"tojson", json},
                                  {"trim", trim},
                                  {"upper", change_case<upper>}};

}  // namespace

Filter find_filter(std::string_view name) {
  for (const std::span<const FilterRow> rows :
       {std::span<const FilterRow>(kFilters), sequence_filters(), text_filters()})
    if (const auto row = std::ranges::find(rows, name, &FilterRow::name); row != rows.end()) return row->filter;
  return nullptr;
}

std::string filter_names() {
  std::vector<std::string_view> names;
  for (const std::span<const FilterRow> rows :
       {std::span<const FilterRow>(kFilters), sequence_filters(), text_filters()})
    for (const FilterRow& row : rows) names.push_back(row.name);
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace megalith::chat
