#include "tokens/json_text.h"

#include <limits>

#include "base/check.h"
#include "tokens/parse_dom.h"

namespace megalith {

using simdjson::dom::element;

std::vector<std::pair<std::string, i32>> read_json_numbers(const std::string& file) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  element root;
  if (const auto error = parser.load(file).get(root)) {
    fail("{}: {}: want a file with one JSON object", file, simdjson::error_message(error));
  }
  check(!root.get(object), "{}: not a JSON object: want {{\"token\": id, ...}}", file);
  std::vector<std::pair<std::string, i32>> pairs;
  for (const auto [key, value] : object) {
    i64 number = 0;
    const bool ok = !value.get(number) && number >= 0 && number <= std::numeric_limits<i32>::max();
    check(ok, "{}: the id of \"{}\" is {}: want a whole number from 0 on", file, key, simdjson::minify(value));
    pairs.emplace_back(key, i32(number));
  }
  return pairs;
}

std::vector<std::string> read_json_ranks(const std::string& file) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  element root;
  if (const auto error = parser.load(file).get(root)) {
    fail("{}: {}: want a file with one JSON list", file, simdjson::error_message(error));
  }
  check(!root.get(list), "{}: not a JSON list: want [{{\"rank\": 0, \"token_bytes\": \"...\"}}, ...]", file);
  std::vector<std::string> tokens;
  for (const element item : list) {
    i64 rank = -1;
    std::string_view bytes;
    const bool ok = !item["rank"].get(rank) && !item["token_bytes"].get(bytes);
    check(ok, "{}: entry {} is {}: want {{\"rank\": {}, \"token_bytes\": \"...\"}}", file, tokens.size(),
          simdjson::minify(item).substr(0, 80), tokens.size());
    check(rank == i64(tokens.size()), "{}: entry {} has rank {}: ranks must follow one another from 0 on", file,
          tokens.size(), rank);
    tokens.emplace_back(bytes);
  }
  return tokens;
}

struct JsonObject::State {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
};

JsonObject::JsonObject() : state_(std::make_unique<State>()) {}
JsonObject::~JsonObject() = default;

void JsonObject::parse(std::string_view line) {
  check(!line.starts_with("\xef\xbb\xbf"), "the line begins with a byte order mark (EF BB BF): remove these bytes");
  element root;
  const auto error = parse_dom(state_->parser, line, true, root);
  check(!error, "{}: correct or remove the line", json_fault(error));
  if (root.get(state_->object)) fail("not a JSON object: want {{\"text\": \"...\"}}");
}

void JsonObject::strings_at(std::string_view key, std::vector<std::string_view>& out) const {
  element value;
  bool found = false;
  std::string keys;
  for (const auto field : state_->object) {
    if (field.key == key) found = true, value = field.value;
  }
  if (!found) {
    for (const auto field : state_->object) keys.append(keys.empty() ? "" : ", ").append(field.key);
    fail("no key \"{}\" (the line has: {}): name the right ones with --json-keys", key, keys.substr(0, 200));
  }
  out.clear();
  simdjson::dom::array list;
  std::string_view text;
  const auto is_text = [&](const element& e) { return !e.get(text) && !odd_number(text); };
  if (is_text(value)) {
    out.push_back(text);
    return;
  }
  check(!value.get(list), "the value of \"{}\" is neither a string nor a list of strings: correct or remove the line",
        key);
  for (const element item : list) {
    check(is_text(item), "the list at \"{}\" holds something that is not a string: correct or remove the line", key);
    out.push_back(text);
  }
}

}  // namespace megalith
