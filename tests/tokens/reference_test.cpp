// Every tokenizer compared with the Python packages: Hugging Face tokenizers, tiktoken and sentencepiece. Skipped if
// they cannot be imported. MEGALITH_PYTHON names the interpreter (default python3), MEGALITH_TEXTS the number of
// random texts.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/places.h"
#include "tests/tokens/helpers.h"

namespace megalith {

namespace {

class Reader {
 public:
  explicit Reader(const std::string& file) : bytes_(read_all(file)) {}
  bool done() const { return at_ == bytes_.size(); }
  std::string text() {
    const u32 size = number();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  // The next list of ids; false if the package itself failed on the text.
  bool ids(std::vector<i32>& ids) {
    const u32 size = number();
    if (size == 0xFFFFFFFF) return false;
    ids.resize(size);
    std::memcpy(ids.data(), bytes_.data() + at_, ids.size() * sizeof(i32));
    at_ += ids.size() * sizeof(i32);
    return true;
  }

 private:
  u32 number() {
    u32 n = 0;
    std::memcpy(&n, bytes_.data() + at_, sizeof(n));
    at_ += sizeof(n);
    return n;
  }
  std::string bytes_;
  size_t at_ = 0;
};

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

TokenizerConfig reference_config(const nlohmann::json& c) {
  TokenizerConfig config{.type = c.at("type"),
                         .vocab_file = c.value("vocab", ""),
                         .merge_file = c.value("merges", ""),
                         .tokenizer_model = c.value("model", "")};
  config.tiktoken_pattern = c.value("pattern", "");
  return config;
}

// The number of texts whose ids or decoded text differ; prints the first few.
int differences(const nlohmann::json& c, const std::vector<std::string>& texts, const std::string& ids_file) {
  const auto t = make_tokenizer(reference_config(c));
  const auto encoder = t->encoder();
  Reader reader(ids_file);
  int different = 0;
  for (size_t i = 0; i < c.at("count"); ++i) {
    std::vector<i32> want;
    if (!reader.ids(want)) continue;
    const std::string want_text = reader.text();
    std::vector<i32> got;
    encoder->encode(texts[i], got);
    const bool same = got == want && t->decode(want) == replace_invalid_utf8(want_text);
    if (same || ++different > 2) continue;
    EXPECT_EQ(got, want) << c.at("name") << ", text " << i << ": " << nlohmann::json(texts[i].substr(0, 300)).dump();
    EXPECT_EQ(t->decode(want), replace_invalid_utf8(want_text)) << c.at("name") << ", text " << i;
  }
  return different;
}

}  // namespace

TEST(Reference, equals_the_python_packages) {
  const TempDir dir;
  const std::string python = environment("MEGALITH_PYTHON", "python3");
  const std::string command =
      fmt::format("\"{}\" \"{}/tests/tokens/reference.py\" \"{}\" \"{}\" \"{}\" {} > \"{}\" 2>&1", python, kSourceDir,
                  dir.path.string(), kSharedDir, kSourceDir, environment("MEGALITH_TEXTS", "10000"), dir.file("log"));
  const int status = std::system(command.c_str());
  if (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)
    GTEST_SKIP() << python << ": " << read_all(dir.file("log"))
                 << "(pip install tokenizers tiktoken sentencepiece; MEGALITH_PYTHON)";
  ASSERT_EQ(status, 0) << read_all(dir.file("log"));
  std::vector<std::string> texts;
  for (Reader reader(dir.file("texts.bin")); !reader.done();) texts.push_back(reader.text());
  const auto manifest = nlohmann::json::parse(read_all(dir.file("manifest.json")));
  for (const auto& c : manifest) {
    const std::string name = c.at("name");
    try {
      const int different = differences(c, texts, dir.file(name + ".ids"));
      EXPECT_EQ(different, 0) << name << ": of " << c.at("count") << " texts";
    } catch (const Error& e) {
      ADD_FAILURE() << name << ": " << e.what();
    }
  }
  std::printf("%zu tokenizers, %zu texts\n", manifest.size(), texts.size());
}

}  // namespace megalith
