#include "tokens/chat/json_value.h"

#include "base/check.h"
#include "tokens/parse_dom.h"

namespace megalith::chat {

using simdjson::dom::element;
using simdjson::dom::element_type;

namespace {

Value odd_value(std::string_view number) {
  if (number.find_first_of("NI.eE") != std::string_view::npos) return odd_double(number);
  return BigWhole{std::string(number)};
}

// The parser limits the depth to about a thousand levels.
Value value_of(const element& e) {
  switch (e.type()) {
    case element_type::ARRAY: {
      List list;
      for (const element item : simdjson::dom::array(e)) list.push_back(value_of(item));
      return list;
    }
    case element_type::OBJECT: {
      Dict dict;
      for (const auto field : simdjson::dom::object(e)) dict.set(field.key, value_of(field.value));
      return dict;
    }
    case element_type::STRING: {
      const std::string_view text(e);
      const auto odd = odd_number(text);
      return odd ? odd_value(*odd) : Value(text);
    }
    case element_type::BOOL:
      return bool(e);
    case element_type::INT64:
      return i64(e);
    case element_type::DOUBLE:
      return double(e);
    case element_type::NULL_VALUE:
      return None{};
    default:
      return BigWhole{std::to_string(std::uint64_t(e))};
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
  const auto error = parse_dom(state_->parser, json, false, root);
  check(!error, "{}: correct or remove the line", json_fault(error));
  return value_of(root);
}

}  // namespace megalith::chat
