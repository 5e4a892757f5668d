// Typed, checked access to the keys of a config.json. Heavy (JSON): only .cpp files of this folder include it.
#pragma once
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/dtype.h"

namespace megalith {

// A null value counts as absent. If several names are given, the first present one counts.
class JsonFields {
 public:
  using Names = std::initializer_list<const char*>;

  JsonFields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  const nlohmann::json* find(Names names) const {
    for (const char* name : names)
      if (const auto it = object_.find(name); it != object_.end() && !it->is_null()) return &*it;
    return nullptr;
  }
  bool has(const char* name) const { return find({name}) != nullptr; }
  bool absent(const char* name) const { return !object_.contains(name); }  // not even null

  i64 size(Names names) const {  // required
    const auto value = optional_size(names);
    check(value.has_value(), "{}: {} is missing", where_, *names.begin());
    return *value;
  }
  i64 size(Names names, i64 fallback) const { return optional_size(names).value_or(fallback); }
  std::optional<i64> optional_size(Names names) const {
    const auto* v = find(names);
    if (v == nullptr) return std::nullopt;
    if (!is_integer(*v, 1)) want(names, *v, "an integer from 1 to 2^31");
    return v->get<i64>();
  }
  i64 count(Names names, i64 fallback) const {
    const auto* v = find(names);
    if (v == nullptr) return fallback;
    if (!is_integer(*v, 0)) want(names, *v, "an integer from 0 to 2^31");
    return v->get<i64>();
  }
  double number(Names names, double fallback) const {
    const auto* v = find(names);
    if (v == nullptr) return fallback;
    if (!v->is_number() || !std::isfinite(v->get<double>()) || v->get<double>() < 0) want(names, *v, "a number from 0");
    return v->get<double>();
  }
  double positive(Names names, double fallback) const {
    const double value = number(names, fallback);
    if (value <= 0) want(names, value, "a number above 0");
    return value;
  }
  bool flag(Names names, bool fallback) const {
    const auto* v = find(names);
    if (v == nullptr) return fallback;
    if (!v->is_boolean()) want(names, *v, "true or false");
    return v->get<bool>();
  }
  std::string text(Names names, const std::string& fallback) const {
    const auto* v = find(names);
    if (v == nullptr) return fallback;
    if (!v->is_string()) want(names, *v, "a string");
    return v->get<std::string>();
  }
  // A token id or a list of them.
  std::vector<i64> ids(Names names) const {
    const auto* v = find(names);
    if (v == nullptr) return {};
    std::vector<i64> result;
    for (const auto& id : v->is_array() ? *v : nlohmann::json::array({*v})) {
      if (!id.is_number_integer()) want(names, *v, "a token id or a list of them");
      result.push_back(id.get<i64>());
    }
    return result;
  }
  // Refuses a flag that our model only has one way.
  void require(const char* name, bool supported, bool fallback) const {
    check(flag({name}, fallback) == supported, "{}: {} = {} is not supported; only {} is", where_, name, !supported,
          supported);
  }

  [[noreturn]] void want(Names names, const nlohmann::json& value, std::string_view wanted) const {
    fail("{}: {} is {}: want {}", where_, *names.begin(), value.dump(), wanted);
  }
  const std::string& where() const { return where_; }

 private:
  static bool is_integer(const nlohmann::json& v, i64 low) {
    constexpr i64 kHigh = i64{1} << 31;
    return v.is_number_integer() && v.get<double>() >= double(low) && v.get<double>() <= double(kHigh);
  }

  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace megalith
