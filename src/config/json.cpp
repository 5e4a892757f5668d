// Reads and writes a list of fields as JSON.
#include <algorithm>

#include "base/parse_json.h"
#include "config/file.h"

namespace megalith::config {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Numbers keep their shortest exact decimal form, in which field.cpp reads and writes them.
ordered_json json_of(const Field& field) {
  if (const auto* p = std::get_if<i64*>(&field.ref)) return **p;
  if (const auto* p = std::get_if<i32*>(&field.ref)) return **p;
  if (const auto* p = std::get_if<double*>(&field.ref)) return **p;
  if (const auto* p = std::get_if<bool*>(&field.ref)) return **p;
  if (const auto* p = std::get_if<std::optional<double>*>(&field.ref))
    return **p ? ordered_json(***p) : ordered_json(nullptr);
  if (const auto* p = std::get_if<std::vector<i64>*>(&field.ref)) return **p;
  if (const auto* p = std::get_if<std::vector<double>*>(&field.ref)) return **p;
  if (const auto* p = std::get_if<std::vector<std::string>*>(&field.ref)) return **p;
  return field.values().at(0);
}

std::string text_of(const json& value, std::string_view where) {
  check(value.is_primitive() && !value.is_null(), "{}: a single value is wanted, {} is given", where,
        value.type_name());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> texts_of(const json& value, std::string_view where) {
  if (value.is_null()) return {};
  if (!value.is_array()) return {text_of(value, where)};
  std::vector<std::string> texts;
  for (const json& item : value) texts.push_back(text_of(item, where));
  return texts;
}

// The field for which `key` was a switch: true means one of its values.
Field* find_switch(FieldList& fields, const std::string& key, std::string& constant) {
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  for (Field& field : fields.all())
    for (const Spelling& spelling : field.spellings)
      if (spelling.flag == flag && spelling.constant && !field.is_switch()) {
        constant = *spelling.constant;
        return &field;
      }
  return nullptr;
}

}  // namespace

std::string to_json(const FieldList& fields) {
  ordered_json object = ordered_json::object();
  for (const Field& field : fields.all()) object[field.key()] = json_of(field);
  return object.dump(2, ' ', false, json::error_handler_t::replace);
}

std::vector<std::string> from_json(FieldList& fields, std::string_view text, std::string_view where) {
  const auto object = parse_json<json>(text);
  check(object.is_object(), "{}: this is not a JSON object of settings", where);
  std::vector<std::string> unknown;
  for (const auto& [key, value] : object.items()) {
    Field* field = fields.find(key);
    const std::string place = fmt::format("{}: {}", where, key);
    std::string constant;
    if (field == nullptr && value.is_boolean()) field = find_switch(fields, key, constant);
    if (field == nullptr) {
      unknown.push_back(key);
      continue;
    }
    if (!constant.empty()) {  // written by a version that had a field of this name
      if (value.get<bool>()) field->set({constant}, place);
      continue;
    }
    field->set(texts_of(value, place), place);
  }
  return unknown;
}

}  // namespace megalith::config
