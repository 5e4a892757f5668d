// Validates a value against a JSON schema. It supports the part of draft 7 that our schemas use.
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace megalith::test {

class JsonSchema {
 public:
  explicit JsonSchema(const nlohmann::json& root) : root_(root) {}

  // The first place where the value breaks the schema, and the reason. Empty if the value is valid.
  std::string violation(const nlohmann::json& value, const nlohmann::json& schema, const std::string& where) const {
    if (schema.contains("$ref")) {
      const std::string pointer = schema["$ref"].get<std::string>().substr(1);
      return violation(value, root_.at(nlohmann::json::json_pointer(pointer)), where);
    }
    if (schema.contains("type") && !has_type(value, schema["type"]))
      return fmt::format("{} is {}, not {}", where, value.dump(), schema["type"].dump());
    if (schema.contains("const") && value != schema["const"]) return where + " is another constant";
    if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
      return fmt::format("{} is {}", where, value.dump());
    if (value.is_number()) return of_number(value.get<double>(), schema, where);
    if (value.is_array() && schema.contains("items"))
      for (size_t i = 0; i < value.size(); ++i)
        if (std::string line = violation(value[i], schema["items"], fmt::format("{}/{}", where, i)); !line.empty())
          return line;
    return value.is_object() ? of_object(value, schema, where) : "";
  }

 private:
  static bool has_type(const nlohmann::json& value, const nlohmann::json& type) {
    if (type.is_array()) return std::ranges::any_of(type, [&](const auto& one) { return has_type(value, one); });
    const std::string name = type;
    return (name == "object" && value.is_object()) || (name == "array" && value.is_array()) ||
           (name == "string" && value.is_string()) || (name == "boolean" && value.is_boolean()) ||
           (name == "integer" && value.is_number_integer()) || (name == "number" && value.is_number()) ||
           (name == "null" && value.is_null());
  }
  static std::string of_number(double x, const nlohmann::json& schema, const std::string& where) {
    const bool low = schema.contains("minimum") && x < schema["minimum"].get<double>();
    const bool at = schema.contains("exclusiveMinimum") && x <= schema["exclusiveMinimum"].get<double>();
    const bool high = schema.contains("maximum") && x > schema["maximum"].get<double>();
    return low || at || high ? fmt::format("{} is {}", where, x) : "";
  }
  std::string of_object(const nlohmann::json& value, const nlohmann::json& schema, const std::string& where) const {
    for (const auto& key : schema.value("required", nlohmann::json::array()))
      if (!value.contains(key.get<std::string>())) return fmt::format("{} has no {}", where, key.dump());
    const nlohmann::json known = schema.value("properties", nlohmann::json::object());
    for (const auto& [key, member] : value.items()) {
      if (!known.contains(key)) {
        if (schema.value("additionalProperties", true)) continue;
        return fmt::format("{} has {}", where, key);
      }
      if (std::string line = violation(member, known[key], where + "/" + key); !line.empty()) return line;
    }
    return {};
  }

  const nlohmann::json& root_;
};

inline std::string violations(const nlohmann::json& value, const nlohmann::json& schema) {
  return JsonSchema(schema).violation(value, schema, "");
}

}  // namespace megalith::test
