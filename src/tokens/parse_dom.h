// Parses JSON with simdjson as Python's json does (base/python_json.h). The header is large: only .cpp files include
// it.
#pragma once
#include <simdjson.h>

#include "base/check.h"
#include "base/python_json.h"

namespace megalith {

inline std::string json_fault(simdjson::error_code error) {
  if (error == simdjson::DEPTH_ERROR) return "nested more than 1024 levels deep";
  if (error == simdjson::UTF8_ERROR) return "not valid UTF-8";
  if (error == simdjson::CAPACITY) return "longer than 4 GB";
  return fmt::format("not valid JSON ({})", simdjson::error_message(error));
}

// The root. Numbers that simdjson cannot hold are strings, which odd_number recognizes. padded: simdjson's padding is
// readable after the text. On an error the root is unchanged.
inline simdjson::error_code parse_dom(simdjson::dom::parser& parser, std::string_view text, bool padded,
                                      simdjson::dom::element& root) {
  const auto error = parser.parse(text.data(), text.size(), !padded).get(root);
  if (!error || error == simdjson::DEPTH_ERROR || error == simdjson::CAPACITY) return error;
  return parser.parse(plain_json(text)).get(root);
}

}  // namespace megalith
