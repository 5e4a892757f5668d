// A tokenizer.json with arbitrary bytes. If it loads, the target encodes a text.
#include "fuzz/json_files.h"
#include "fuzz/target.h"
#include "fuzz/tools.h"

namespace megalith::fuzz::tokenizer_json {

void feed(std::string_view input, const std::string& scratch) {
  write(scratch, input);
  use(*make_tokenizer({.type = "HuggingFaceTokenizer", .tokenizer_model = scratch}), kText);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const auto& file : tokenizer_files()) all.push_back(file.dump());
  return all;
}

}  // namespace megalith::fuzz::tokenizer_json
