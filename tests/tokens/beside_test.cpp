// Tokens and settings in files next to tokenizer.json, compared with transformers' AutoTokenizer: the stored cases of
// beside.py, and new ones if transformers can be imported.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/places.h"
#include "tests/tokens/helpers.h"

namespace megalith {

namespace {

using nlohmann::json;

void check_case(const json& all, const json& c) {
  const TempDir dir;
  for (const auto& [name, content] : c["files"].items()) {
    json file = content;
    if (name == "tokenizer.json") file["model"].update(all["kinds"][c["kind"].get<std::string>()]);
    dir.write(name, file.dump());
  }
  const std::string shown = c["files"].dump() + " as " + c["class"].dump();
  std::unique_ptr<Tokenizer> t;
  ASSERT_EQ(
      error_of([&] { t = make_tokenizer({.type = "HuggingFaceTokenizer", .tokenizer_model = dir.path.string()}); }), "")
      << shown;
  EXPECT_EQ(t->vocab_size(), c["size"]) << shown;
  for (size_t i = 0; i < all["texts"].size(); ++i)
    EXPECT_EQ(json(t->encode(all["texts"][i].get<std::string>())), c["ids"][i]) << all["texts"][i] << shown;
  if (!c["eos"].is_null()) EXPECT_EQ(t->eod(), c["eos"]) << shown;
  if (!c["bos"].is_null()) EXPECT_EQ(t->bos(), c["bos"]) << shown;
  if (!c["pad"].is_null()) EXPECT_EQ(t->pad(), c["pad"]) << shown;
}

void check_all(const json& all) {
  for (const json& c : all["cases"]) {
    check_case(all, c);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace

TEST(TokensBeside, golden_cases_equal_transformers) {
  check_all(json::parse(read_all(std::string(kSourceDir) + "/tests/golden/tokens_beside.json")));
}

TEST(TokensBeside, new_cases_equal_transformers) {
  const TempDir dir;
  const char* named = std::getenv("MEGALITH_PYTHON");
  const int status =
      std::system(fmt::format("\"{}\" {}/tests/tokens/beside.py 150 7 > \"{}\" 2> \"{}\"",
                              named && *named ? named : "python3", kSourceDir, dir.file("cases.json"), dir.file("log"))
                      .c_str());
  if (status != 0) GTEST_SKIP() << read_all(dir.file("log")) << " (pip install transformers; MEGALITH_PYTHON)";
  check_all(json::parse(read_all(dir.file("cases.json"))));
}

}  // namespace megalith
