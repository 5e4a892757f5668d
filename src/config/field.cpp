#include "config/field.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "base/plain_number.h"

namespace megalith::config {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

template <class T>
T parse_whole(std::string_view text, std::string_view where) {
  T value = 0;
  const std::string plain = plain_number(text);
  const char* last = plain.data() + plain.size();
  const auto [end, code] = std::from_chars(plain.data(), last, value);
  check(code != std::errc::result_out_of_range, "{}: '{}' is too large: give an integer of at most {} bits", where,
        text, 8 * sizeof(T));
  check(code == std::errc() && end == last, "{}: '{}' is not a whole number, such as 12", where, text);
  return value;
}

double parse_double(std::string_view text, std::string_view where) {
  double value = 0;
  const std::string plain = plain_number(text);
  const char* last = plain.data() + plain.size();
  const auto [end, code] = std::from_chars(plain.data(), last, value);
  check(code == std::errc() && end == last && std::isfinite(value), "{}: '{}' is not a number, such as 0.1 or 6e-4",
        where, text);
  return value;
}

std::string text_of(i64 value) { return fmt::to_string(value); }
std::string text_of(double value) {
  std::string text = fmt::to_string(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}
std::string text_of(const std::string& value) { return value; }

template <class T>
std::vector<std::string> texts_of(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (const T& value : values) texts.push_back(text_of(value));
  return texts;
}

const std::string& single(const std::vector<std::string>& texts, std::string_view where) {
  check(!texts.empty(), "{}: it has no value: give one", where);
  check(texts.size() == 1, "{}: one value is wanted, {} are given", where, texts.size());
  return texts[0];
}

void set_enum(const EnumRef& ref, const std::string& text, std::string_view where) {
  const auto found = std::find(ref.names.begin(), ref.names.end(), text);
  check(found != ref.names.end(), "{}: '{}' is none of {}", where, text, fmt::join(ref.names, ", "));
  ref.set(ref.member, found - ref.names.begin());
}

std::string with(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

}  // namespace

bool parse_bool(std::string_view text, std::string_view where) {
  std::string lower(text);
  for (char& c : lower) c = char(std::tolower(u8(c)));
  for (const char* yes : {"true", "yes", "on", "1"})
    if (lower == yes) return true;
  for (const char* no : {"false", "no", "off", "0"})
    if (lower == no) return false;
  fail("{}: '{}' is neither true nor false", where, text);
}

std::string Field::key() const { return with(name, '-', '_'); }

bool Field::is_list() const {
  return std::holds_alternative<std::vector<i64>*>(ref) || std::holds_alternative<std::vector<double>*>(ref) ||
         std::holds_alternative<std::vector<std::string>*>(ref);
}

std::string Field::text() const {
  if (is_switch()) return *std::get<bool*>(ref) ? "True" : "False";
  const auto texts = values();
  if (std::holds_alternative<std::vector<std::string>*>(ref))
    return texts.empty() ? "[]" : fmt::format("['{}']", fmt::join(texts, "', '"));
  if (is_list()) return fmt::format("[{}]", fmt::join(texts, ", "));
  return texts.empty() || texts[0].empty() ? "None" : texts[0];
}

std::vector<std::string> Field::values() const {
  using Texts = std::vector<std::string>;
  return std::visit(
      Overload{[](const i64* p) { return Texts{text_of(*p)}; }, [](const i32* p) { return Texts{text_of(i64(*p))}; },
               [](const double* p) { return Texts{text_of(*p)}; },
               [](const bool* p) { return Texts{*p ? "true" : "false"}; },
               [](const std::string* p) { return Texts{*p}; },
               [](const std::optional<double>* p) { return *p ? Texts{text_of(**p)} : Texts{}; },
               [](const EnumRef& e) { return Texts{e.names.at(size_t(e.get(e.member)))}; },
               [](const auto* list) { return texts_of(*list); }},
      ref);
}

void Field::set(const std::vector<std::string>& texts, std::string_view where) {
  const auto one = [&]() -> const std::string& { return single(texts, where); };
  std::visit(
      Overload{[&](i64* p) { *p = parse_whole<i64>(one(), where); },
               [&](i32* p) { *p = parse_whole<i32>(one(), where); },
               [&](double* p) { *p = parse_double(one(), where); }, [&](bool* p) { *p = parse_bool(one(), where); },
               [&](std::string* p) { *p = one(); },
               [&](std::optional<double>* p) {
                 *p = texts.empty() ? std::nullopt : std::optional<double>(parse_double(one(), where));
               },
               [&](std::vector<i64>* p) {
                 p->clear();
                 for (const auto& text : texts) p->push_back(parse_whole<i64>(text, where));
               },
               [&](std::vector<double>* p) {
                 p->clear();
                 for (const auto& text : texts) p->push_back(parse_double(text, where));
               },
               [&](std::vector<std::string>* p) { *p = texts; }, [&](const EnumRef& e) { set_enum(e, one(), where); }},
      ref);
}

Field& Field::also(std::string flag) { return also(Spelling{.flag = std::move(flag)}); }
Field& Field::also(Spelling spelling) {
  spellings.push_back(std::move(spelling));
  return *this;
}
Field& Field::means(std::string flag, std::string constant, std::string note) {
  return also(Spelling{.flag = std::move(flag), .constant = std::move(constant), .help = std::move(note)});
}
Field& Field::shown_as(std::string name_of_value) {
  metavar = std::move(name_of_value);
  return *this;
}
Field& Field::there_is(std::string megatrons_default) {
  there = std::move(megatrons_default);
  return *this;
}
Field& Field::one_of(std::string name_of_choice) {
  choice = std::move(name_of_choice);
  return *this;
}
Field& Field::also_bare() {
  bare = true;
  return *this;
}

Field& FieldList::add(std::string name, Ref ref, std::string help) {
  Field field{.name = name,
              .ref = std::move(ref),
              .help = std::move(help),
              .group = group_,
              .metavar = {},
              .spellings = {},
              .there = {},
              .choice = {}};
  Spelling main{.flag = "--" + name};
  if (field.is_switch()) main.constant = "true";
  field.spellings.push_back(std::move(main));
  return fields_.emplace_back(std::move(field));
}

Field& FieldList::add_on(std::string name, bool& member, std::string help) {
  Field& field = add(name, Ref(&member), std::move(help));
  field.spellings.insert(field.spellings.begin(), Spelling{.flag = "--no-" + name, .constant = "false"});
  return field.means("--disable-" + name, "false");
}

Field* FieldList::find(std::string_view name) {
  const std::string dashed = with(std::string(name), '_', '-');
  for (Field& field : fields_)
    if (field.name == dashed) return &field;
  return nullptr;
}

void FieldList::check_unique() const {
  std::unordered_set<std::string_view> names, flags;  // every start of the program makes several lists
  names.reserve(fields_.size()), flags.reserve(2 * fields_.size());
  for (const Field& field : fields_) {
    check(names.insert(field.name).second, "two fields are called {}", field.name);
    for (const Spelling& spelling : field.spellings)
      check(flags.insert(spelling.flag).second, "two fields have the flag {}", spelling.flag);
  }
}

std::vector<Difference> differences(const FieldList& expected, const FieldList& found) {
  check(expected.all().size() == found.all().size(), "configs of {} and of {} fields cannot be compared",
        expected.all().size(), found.all().size());
  std::vector<Difference> result;
  for (size_t i = 0; i < expected.all().size(); ++i) {
    const Field &a = expected.all()[i], &b = found.all()[i];
    check(a.name == b.name, "configs of different structs cannot be compared: {} against {}", a.name, b.name);
    if (a.values() != b.values()) result.push_back({a.key(), a.text(), b.text()});
  }
  return result;
}

}  // namespace megalith::config
