// Fast JSON: the strings of one line of a JSONL file, and flat files of numbers. It hides simdjson.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// The pairs of a file with one JSON object of integers. `file`: its name, for errors.
std::vector<std::pair<std::string, i32>> read_json_numbers(const std::string& file);

// The tokens of Megatron's tiktoken file, [{"rank": i, "token_bytes": base64, ...}, ...], by rank and in base64.
std::vector<std::string> read_json_ranks(const std::string& file);

// Parses objects, and reuses its memory.
class JsonObject {
 public:
  static constexpr size_t kPadding = 64;  // readable bytes that must follow the text

  JsonObject();
  ~JsonObject();

  // Parses one line. Its strings are valid until the next call. Fails with the reason. The caller adds the place.
  void parse(std::string_view line);

  // The string, or the list of strings, at `key`. Of equal keys the last counts. Fails if there is none.
  void strings_at(std::string_view key, std::vector<std::string_view>& out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace megalith
