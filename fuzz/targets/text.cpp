// Texts for a tokenizer of each kind. The first byte selects the kind.
#include "fuzz/json_files.h"
#include "fuzz/target.h"
#include "fuzz/tools.h"

namespace megalith::fuzz::text {

namespace {

std::vector<std::unique_ptr<Tokenizer>> make_all(const std::string& scratch) {
  std::vector<std::unique_ptr<Tokenizer>> all;
  for (const auto& file : tokenizer_files()) {
    write(scratch, file.dump());
    all.push_back(make_tokenizer({.type = "HuggingFaceTokenizer", .tokenizer_model = scratch}));
  }
  return all;
}

}  // namespace

void feed(std::string_view input, const std::string& scratch) {
  static const std::vector<std::unique_ptr<Tokenizer>> tokenizers = make_all(scratch);
  if (!input.empty()) use(*tokenizers[u8(input[0]) % tokenizers.size()], input.substr(1));
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (size_t k = 0; k < tokenizer_files().size(); ++k) all.push_back(char(k) + std::string(kText));
  return all;
}

}  // namespace megalith::fuzz::text
