#include "cli/fp8/key.h"

#include <charconv>

#include "base/parse_count.h"

namespace megalith::fp8 {

bool take(std::string_view& key, std::string_view word) {
  if (!key.starts_with(word)) return false;
  const std::string_view rest = key.substr(word.size());
  if (!rest.empty() && rest[0] != '_') return false;
  key = rest.empty() ? rest : rest.substr(1);
  return true;
}

std::optional<quant::Fp8> take_format(std::string_view& key) {
  if (take(key, "e4m3")) return quant::Fp8::e4m3;
  if (take(key, "e5m2")) return quant::Fp8::e5m2;
  return std::nullopt;
}

// Reads the word NAMEtext at the front. `parse` gives its value.
template <class F>
static auto take_value(std::string_view& key, std::string_view name, F&& parse) -> decltype(parse(key)) {
  if (!key.starts_with(name)) return std::nullopt;
  const std::string_view word = key.substr(0, key.find('_'));
  const auto value = parse(word.substr(name.size()));
  if (value) take(key, word);
  return value;
}

std::optional<i64> take_count(std::string_view& key, std::string_view name) {
  return take_value(key, name, [](std::string_view text) -> std::optional<i64> {
    const auto n = parse_count(text);
    return n && *n <= 1'000'000 ? n : std::nullopt;
  });
}

std::optional<float> take_number(std::string_view& key, std::string_view name) {
  return take_value(key, name, [](std::string_view text) -> std::optional<float> {
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  });
}

}  // namespace megalith::fp8
