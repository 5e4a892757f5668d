// Parsing JSON of files. Heavy (JSON): only .cpp files include it.
#pragma once
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_depth.h"
#include "base/python_json.h"

namespace megalith {

// Puts the numbers back that plain_json took out: whole ones that fit into 64 bits, else doubles.
template <class Json>
void restore_odd_numbers(Json& j) {
  if (j.is_string()) {
    const auto text = odd_number(j.template get_ref<const typename Json::string_t&>());
    if (!text) return;
    typename Json::number_unsigned_t whole = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), whole);
    j = error == std::errc() && end == text->data() + text->size() ? Json(whole) : Json(odd_double(*text));
  } else if (j.is_structured()) {
    for (auto& part : j) restore_odd_numbers(part);
  }
}

// The value. It is discarded if Python's json would refuse the text, or if its nesting is deeper than these formats
// need. NaN and infinite numbers are read as Python reads them.
template <class Json>
Json parse_json(std::string_view text) {
  if (is_nested_too_deep(text)) return Json(nlohmann::detail::value_t::discarded);
  Json j = Json::parse(text, nullptr, false);
  if (!j.is_discarded()) return j;
  j = Json::parse(plain_json(text), nullptr, false);
  if (!j.is_discarded()) restore_odd_numbers(j);
  return j;
}

// Compiled once (parse_json.cpp), because a parser costs a second of compile time.
extern template nlohmann::json parse_json(std::string_view);
extern template nlohmann::ordered_json parse_json(std::string_view);

}  // namespace megalith
