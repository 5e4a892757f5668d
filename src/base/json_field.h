// Values of JSON files, read one by one. Errors name a missing or wrong value and its field, which the library's own
// messages omit. Large include (JSON): only .cpp files include it.
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "base/parse_count.h"

namespace megalith {

// As a message shows it.
template <class Json>
std::string shown(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80);
}

template <class T, class Json>
T value_of(const Json& j, std::string_view name) {
  try {
    return j.template get<T>();
  } catch (const typename Json::exception&) {
    fail("{} is {}", name, shown(j));
  }
}

template <class Json>
const Json& field(const Json& j, const char* name) {
  const auto it = j.find(name);
  check(it != j.end(), "{} is missing", name);
  return *it;
}

template <class T, class Json>
T field_as(const Json& j, const char* name) {
  return value_of<T>(field(j, name), name);
}

// Of iterations, samples and the like.
template <class Json>
i64 count_field(const Json& j, const char* name) {
  const Json& n = field(j, name);
  check(n.is_number_integer() && n.template get<double>() >= 0 && n.template get<double>() <= double(kMostCount),
        "{} is {}: want an integer from 0 to 2^53", name, shown(n));
  return n.template get<i64>();
}

}  // namespace megalith
