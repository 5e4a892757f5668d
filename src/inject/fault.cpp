#include "inject/fault.h"

#include <algorithm>

#include "base/check.h"
#include "base/parse_count.h"
#include "inject/storm.h"

namespace megalith {

namespace {

std::vector<std::string> split_at(std::string_view text, std::string_view separators) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (separators.find(c) != std::string_view::npos)
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

i64 count_of(const std::string& text, const std::string& fault) {
  const auto n = parse_count(text);
  check(n.has_value(), "--inject {}: {} is not a number: want KIND@RANK:ITERATION[:ARGUMENT...]", fault, text);
  return *n;
}

Fault parse_fault(const std::string& text) {
  const size_t at = text.find('@');
  check(at != std::string::npos, "--inject {}: want KIND@RANK:ITERATION[:ARGUMENT...], as in kill@0:10", text);
  std::vector<std::string> parts = split_at(std::string_view(text).substr(at + 1), ":");
  check(parts.size() >= 2, "--inject {}: want KIND@RANK:ITERATION[:ARGUMENT...], as in kill@0:10", text);
  Fault out{text.substr(0, at), int(count_of(parts[0], text)), count_of(parts[1], text), {}, text};
  check(out.iteration > 0, "--inject {}: 0 is before the first: want 1 or more", text);
  out.arguments.assign(parts.begin() + 2, parts.end());
  return out;
}

}  // namespace

std::string Fault::value(std::string_view key, const std::string& otherwise) const {
  for (const std::string& a : arguments)
    if (a.size() > key.size() && a.starts_with(key) && a[key.size()] == '=') return a.substr(key.size() + 1);
  return otherwise;
}

bool Fault::is_of_start() const {
  const std::string in = value("in");
  return in == "init" || in == "load";
}

i64 Fault::number(std::string_view key, i64 otherwise) const {
  const std::string found = value(key);
  return found.empty() ? otherwise : count_of(found, text);
}

i64 Fault::number_of(const std::string& argument) const { return count_of(argument, text); }

void Fault::check_arguments(size_t plain, std::span<const std::string_view> keys) const {
  for (size_t i = plain; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    const bool known =
        equals != std::string::npos && std::ranges::find(keys, arguments[i].substr(0, equals)) != keys.end();
    check(known, "--inject {}: there is no argument {}: leave it out", text, arguments[i]);
  }
}

std::vector<Fault> parse_faults(const std::vector<std::string>& texts) {
  std::vector<Fault> out;
  for (const std::string& text : texts)
    for (const std::string& word : fault_words(text))
      if (!is_storm(word)) out.push_back(parse_fault(word));
  return out;
}

std::vector<std::string> faults_of_start(const std::vector<std::string>& texts, i64 start) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    for (const std::string& word : fault_words(text)) {
      const std::vector<Fault> fault = parse_faults({word});  // none: a storm
      const bool strikes = fault.empty() || (fault[0].is_of_start() ? fault[0].iteration == start : start == 1);
      if (strikes) out.push_back(word);
    }
  return out;
}

std::vector<std::string> fault_words(std::string_view text) {
  std::vector<std::string> out = split_at(text, " ,\t\n");
  std::erase(out, "");
  return out;
}

}  // namespace megalith
