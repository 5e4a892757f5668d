#include "tokens/chat/json_value.h"

#include <simdjson.h>

#include "base/check.h"

namespace megalith::chat {

using simdjson::dom::element;
using simdjson::dom::element_type;

namespace {

// As deep as the parser goes, about a thousand levels.
Value value_of(const element& e) {
  switch (e.type()) {
    case element_type::ARRAY: {
      List list;
      for (const element item : simdjson::dom::array(e)) list.push_back(value_of(item));
      return list;
    }
    case element_type::OBJECT: {
      Dict dict;
      for (const auto field : simdjson::dom::object(e)) dict.items.emplace_back(field.key, value_of(field.value));
      return dict;
    }
    case element_type::STRING:
      return std::string_view(e);
    case element_type::BOOL:
      return bool(e);
    case element_type::INT64:
      return i64(e);
    case element_type::DOUBLE:
      return double(e);
    case element_type::NULL_VALUE:
      return None{};
    default:
      fail("the number {} is too large: mend or remove the line", simdjson::minify(e));
  }
}

}  // namespace

struct JsonValues::State {
  simdjson::dom::parser parser;
};

JsonValues::JsonValues() : state_(std::make_unique<State>()) {}
JsonValues::~JsonValues() = default;

Value JsonValues::read(std::string_view json) {
  element root;
  if (const auto error = state_->parser.parse(json.data(), json.size()).get(root))
    fail("not valid JSON ({}): mend or remove the line", simdjson::error_message(error));
  return value_of(root);
}

}  // namespace megalith::chat
