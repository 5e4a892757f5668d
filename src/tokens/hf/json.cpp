#include "tokens/hf/json.h"

#include <simdjson.h>

#include <cmath>

#include "base/check.h"
#include "base/check_no_pipe.h"

namespace megalith::hf {

using simdjson::dom::element;
using simdjson::dom::element_type;

namespace {

// As deep as the parser goes, about a thousand levels.
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
    case element_type::STRING:
      json.kind = Json::Kind::string;
      json.string = std::string_view(e);
      break;
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

// `json` with ".0" behind whole numbers of more than 18 digits, which simdjson refuses: tokenizer_config.json often
// says that a model's length is 10^30.
static std::string with_decimal_points(std::string_view json) {
  constexpr size_t kMostDigits = 18;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < json.size();) {
    size_t end = i + 1;
    if (in_string) {
      if (json[i] == '\\' && end < json.size()) ++end;
      in_string = json[i] != '"';
    } else if (json[i] == '"') {
      in_string = true;
    } else if (is_digit(json[i])) {
      while (end < json.size() && is_digit(json[end])) ++end;
    }
    out += json.substr(i, end - i);
    const bool whole = end == json.size() || std::string_view(".eE").find(json[end]) == std::string_view::npos;
    if (!in_string && end - i > kMostDigits && whole && (i == 0 || json[i - 1] != '.')) out += ".0";
    i = end;
  }
  return out;
}

Json read_json(const std::string& file) {
  simdjson::padded_string text;
  simdjson::dom::parser parser;
  element root;
  check_no_pipe(file, file);
  auto error = simdjson::padded_string::load(file).get(text);
  if (!error) error = parser.parse(text).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    text = simdjson::padded_string(with_decimal_points(text));
    error = parser.parse(text).get(root);
  }
  if (error) fail("{}: {}: want a JSON file", file, simdjson::error_message(error));
  return tree_of(root);
}

}  // namespace megalith::hf
