// Python's string methods.
#include <algorithm>
#include <functional>

#include "tokens/chat/builtins.h"
#include "tokens/chat/python_format.h"
#include "tokens/chat/python_text.h"
#include "tokens/unicode.h"

namespace megalith::chat {

namespace {

std::string_view self(const Value& v) { return *v.string(); }

Value texts(const std::vector<std::string_view>& parts, Call& c) {
  c.budget.spend_steps(i64(parts.size()));
  List out;
  for (const std::string_view part : parts) out.emplace_back(part);
  return out;
}

// Python counts characters; find() gives bytes.
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

// Whether it is true for every character, and there is at least one.
Value all_are(const Value& v, bool (*holds)(u32)) {
  const auto letters = characters(self(v));
  return !letters.empty() && std::ranges::all_of(letters, [&](std::string_view c) {
    return holds(read_utf8(reinterpret_cast<const u8*>(c.data()), c.size()).code_point);
  });
}

Value place_of(const Value& v, Call& c, size_t at) {
  c.at_most(1);
  check(at != std::string_view::npos, "{} finds no \"{}\"", c.name, c.text(0, "sub"));
  return position(self(v), at);
}

// [before, separator, after]. Without a separator [text, "", ""] or ["", "", text].
Value parted(const Value& v, Call& c, bool from_right) {
  const std::string_view text = self(v), by = c.text(0, "sep");
  check(!by.empty(), "the separator of {} is empty", c.name);
  const size_t at = from_right ? text.rfind(by) : text.find(by);
  if (at != text.npos) return Value::tuple({Value(text.substr(0, at)), Value(by), Value(text.substr(at + by.size()))});
  const Value none{std::string_view()};
  return Value::tuple(from_right ? List{none, none, Value(text)} : List{Value(text), none, none});
}

Value filled(const Value& v, Call& c, Pad where) {
  const i64 width = c.whole(0, "width", 0);
  const std::string_view fill = c.text(1, "fillchar", " ");
  check(width <= i64(kMostBytes) && fill.size() == 1, "{} takes a width and one character", c.name);
  return padded(self(v), width, fill[0], where);
}

Value zero_filled(const Value& v, Call& c) {
  const std::string_view text = self(v);
  const i64 width = c.whole(0, "width", 0);
  check(width <= i64(kMostBytes), "zfill takes a width of {} at most", kMostBytes);
  const bool sign = text.starts_with('-') || text.starts_with('+');
  return std::string(text.substr(0, sign)) + padded(text.substr(sign), width - sign, '0', Pad::left);
}

std::string swapped(std::string_view text) {
  std::string out;
  for (const std::string_view c : characters(text)) out += upper(c) == c ? lower(c) : upper(c);
  return out;
}

bool is_letter(u32 c) {
  const Category k = category_of(c);
  return k == Category::uppercase || k == Category::lowercase || k == Category::titlecase || k == Category::modifier ||
         k == Category::other_letter;
}

struct StringMethodRow {
  std::string_view name;
  Method method;
};

constexpr StringMethodRow kStringMethods[] = {
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
    {"casefold", [](const Value& v, Call&) -> Value { return lower(self(v)); }},
    {"center", [](const Value& v, Call& c) { return filled(v, c, Pad::both); }},
    {"format", [](const Value& v, Call& c) -> Value { return brace_format(self(v), c); }},
    {"index", [](const Value& v, Call& c) { return place_of(v, c, self(v).find(c.text(0, "sub"))); }},
    {"isalnum",
     [](const Value& v, Call&) { return all_are(v, [](u32 c) { return is_letter(c) || is_number(category_of(c)); }); }},
    {"isalpha", [](const Value& v, Call&) { return all_are(v, is_letter); }},
    {"islower", [](const Value& v, Call&) -> Value { return lower(self(v)) == self(v) && upper(self(v)) != self(v); }},
    {"isspace", [](const Value& v, Call&) -> Value { return !self(v).empty() && strip(self(v)).empty(); }},
    {"isupper", [](const Value& v, Call&) -> Value { return upper(self(v)) == self(v) && lower(self(v)) != self(v); }},
    {"ljust", [](const Value& v, Call& c) { return filled(v, c, Pad::right); }},
    {"partition", [](const Value& v, Call& c) { return parted(v, c, false); }},
    {"rindex", [](const Value& v, Call& c) { return place_of(v, c, self(v).rfind(c.text(0, "sub"))); }},
    {"rjust", [](const Value& v, Call& c) { return filled(v, c, Pad::left); }},
    {"rpartition", [](const Value& v, Call& c) { return parted(v, c, true); }},
    {"splitlines", [](const Value& v, Call& c) { return texts(split_lines(self(v)), c); }},
    {"swapcase", [](const Value& v, Call&) -> Value { return swapped(self(v)); }},
    {"zfill", zero_filled},
};

}  // namespace

Method find_string_method(std::string_view name) {
  const auto row = std::ranges::find(kStringMethods, name, &StringMethodRow::name);
  return row == std::end(kStringMethods) ? nullptr : row->method;
}

}  // namespace megalith::chat
