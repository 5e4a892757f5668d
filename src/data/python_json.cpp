#include "data/python_json.h"

#include <charconv>
#include <cmath>

namespace megalith {
namespace {

using Json = nlohmann::ordered_json;

void print(const Json& value, const std::string& margin, std::string& out) {
  if (value.is_number_float()) return void(out += python_repr(value.get<double>()));
  if (!value.is_structured() || value.empty())
    return void(out += value.dump(-1, ' ', true, Json::error_handler_t::replace));
  const std::string inner = margin + "    ";
  out += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    out += (first ? "\n" : ",\n") + inner;
    if (value.is_object()) out += Json(key).dump(-1, ' ', true, Json::error_handler_t::replace) + ": ";
    print(item, inner, out);
    first = false;
  }
  out += "\n" + margin + (value.is_object() ? '}' : ']');
}

}  // namespace

std::string python_repr(double value) {
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char text[64];
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  std::string out(text, std::to_chars(text, text + sizeof text, value, format).ptr);
  if (plain && out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string python_json(const Json& value) {
  std::string out;
  print(value, "", out);
  return out;
}

}  // namespace megalith
