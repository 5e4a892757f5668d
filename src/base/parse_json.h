// Parsing JSON of files. Heavy (JSON): only .cpp files include it.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_depth.h"

namespace megalith {

// The value, or a discarded one where the text is no JSON or nested deeper than any file of these formats.
template <class Json>
Json parse_json(std::string_view text) {
  return is_nested_too_deep(text) ? Json(nlohmann::detail::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace megalith
