#include "tokens/hf/json.h"

#include <cmath>
#include <filesystem>

#include "base/check.h"
#include "base/check_no_pipe.h"
#include "tokens/parse_dom.h"

namespace megalith::hf {

using simdjson::dom::element;
using simdjson::dom::element_type;

namespace {

// The parser limits the depth to about a thousand levels.
Json tree_of(const element& e) {
  Json json;
  switch (e.type()) {
    case element_type::ARRAY:
      json.kind = Json::Kind::list;
      for (const element item : simdjson::dom::array(e)) json.items.push_back(tree_of(item));
      break;
    case element_type::OBJECT:
      json.kind = Json::Kind::object;
      for (const auto field : simdjson::dom::object(e)) {
        json.keys.emplace_back(field.key);
        json.items.push_back(tree_of(field.value));
      }
      break;
    case element_type::STRING: {
      const std::string_view text(e);
      const auto odd = odd_number(text);
      json.kind = odd ? Json::Kind::number : Json::Kind::string;
      if (odd)
        json.number = odd_double(*odd);
      else
        json.string = text;
      break;
    }
    case element_type::BOOL:
      json.kind = Json::Kind::boolean;
      json.boolean = bool(e);
      break;
    case element_type::NULL_VALUE:
      break;
    default:
      json.kind = Json::Kind::number;
      json.number = double(e);
  }
  return json;
}

}  // namespace

const Json* Json::find(std::string_view key) const {
  for (size_t i = keys.size(); i-- > 0;) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

void Json::set(std::string_view key, Json value) {
  kind = Kind::object;
  for (size_t i = keys.size(); i-- > 0;)
    if (keys[i] == key) return void(items[i] = std::move(value));
  keys.emplace_back(key);
  items.push_back(std::move(value));
}

std::string Json::text(std::string_view key, std::string_view otherwise, std::string_view where) const {
  const Json* found = find(key);
  if (!found || found->is_null()) return std::string(otherwise);
  check(found->is_string(), "{}: \"{}\" is not a string", where, key);
  return found->string;
}

bool Json::flag(std::string_view key, bool otherwise, std::string_view where) const {
  const Json* found = find(key);
  if (!found || found->is_null()) return otherwise;
  check(found->kind == Kind::boolean, "{}: \"{}\" is neither true nor false", where, key);
  return found->boolean;
}

i64 Json::whole(std::string_view key, i64 otherwise, std::string_view where) const {
  const Json* found = find(key);
  if (!found || found->is_null()) return otherwise;
  const bool ok =
      found->kind == Kind::number && found->number == std::floor(found->number) && std::abs(found->number) < 9e15;
  check(ok, "{}: \"{}\" is not a whole number", where, key);
  return i64(found->number);
}

const std::vector<Json>& Json::list(std::string_view key, std::string_view where) const {
  const Json* found = find(key);
  check(found && found->is_list(), "{}: \"{}\" is missing or not a list", where, key);
  return found->items;
}

std::string Json::type(std::string_view where) const {
  const Json* found = find("type");
  check(found && found->is_string(), "{}: an object with a \"type\" is wanted", where);
  return found->string;
}

Json read_json(const std::string& file) {
  simdjson::padded_string text;
  simdjson::dom::parser parser;
  element root;
  check_no_pipe(file, file);
  auto error = simdjson::padded_string::load(file).get(text);
  check(!error, "{}: {}: want a JSON file", file, simdjson::error_message(error));
  error = parse_dom(parser, text, true, root);
  check(!error, "{}: {}: want a JSON file", file, json_fault(error));
  return tree_of(root);
}

Json read_json_if_there(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) ? read_json(file) : Json();
}

Json json_of(std::string_view text, std::string_view where) {
  simdjson::dom::parser parser;
  element root;
  const auto error = parse_dom(parser, text, false, root);
  check(!error, "{}: {}", where, json_fault(error));
  return tree_of(root);
}

const Json& member(const Json& object, std::string_view key) {
  static const Json null;
  const Json* found = object.find(key);
  return found ? *found : null;
}

}  // namespace megalith::hf
