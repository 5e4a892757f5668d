// Texts to preprocess, and the resulting dataset.
#pragma once
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <nlohmann/json.hpp>

#include "data/indexed_dataset.h"
#include "tests/tokens/helpers.h"
#include "tokens/preprocess.h"

namespace megalith {

using Documents = std::vector<std::vector<std::vector<i32>>>;  // document, sequence, token

inline Documents read_dataset(const std::string& prefix) {
  const IndexedDataset data(prefix);
  Documents documents(data.documents());
  for (i64 d = 0; d < data.documents(); ++d) {
    for (i64 s = data.document_begin(d); s < data.document_begin(d + 1); ++s) {
      std::vector<i32>& tokens = documents[d].emplace_back(data.length(s));
      data.read(s, 0, tokens);
    }
  }
  return documents;
}

inline PreprocessConfig byte_config(const TempDir& dir, const std::string& input) {
  return {.input = {input}, .output_prefix = dir.file("out"), .tokenizer = {.type = "ByteTokenizer"}};
}

inline std::vector<std::string> files_in(const TempDir& dir, const std::string& part) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path)) {
    const std::string name = entry.path().filename().string();
    if (name.find(part) != std::string::npos) found.push_back(name);
  }
  return found;
}

inline std::string sha256(const std::string& bytes) {
  u8 digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

inline std::string json_line(const std::string& text) { return nlohmann::json{{"text", text}}.dump() + "\n"; }

// Several chunks of lines with texts of many lengths, some empty, one longer than a chunk.
inline std::string many_lines(int count) {
  std::mt19937 random(11);
  std::string lines;
  for (int i = 0; i < count; ++i) {
    std::string text(i == count / 2 ? 1500000 : random() % 7 == 0 ? 0 : random() % 400, ' ');
    for (char& c : text) c = "the ab\nthe 7"[random() % 12];
    lines += json_line(text);
  }
  return lines;
}

}  // namespace megalith
