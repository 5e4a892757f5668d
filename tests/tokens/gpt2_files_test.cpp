// Directories of vocab.json and merges.txt without tokenizer.json, with files of further tokens, compared with
// AutoTokenizer: gpt2_files.json, made by make_chats.py.
#include <nlohmann/json.hpp>

#include "tests/tokens/helpers.h"

namespace megalith {

using nlohmann::json;

TEST(Gpt2Files, directories_give_the_ids_of_transformers) {
  const json golden = json::parse(read_all(std::string(kSourceDir) + "/tests/golden/gpt2_files.json"));
  ASSERT_GT(golden["cases"].size(), 5u);
  for (const json& c : golden["cases"]) {
    const TempDir dir;
    dir.write("vocab.json", golden["vocab"].dump());
    dir.write("merges.txt", golden["merges"]);
    for (const auto& [name, content] : c["files"].items()) dir.write(name, content.dump());
    const std::string shown = fmt::format("{} as {}", c["files"].dump(), c["class"].dump());
    std::unique_ptr<Tokenizer> t;
    ASSERT_EQ(
        error_of([&] { t = make_tokenizer({.type = "HuggingFaceTokenizer", .tokenizer_model = dir.path.string()}); }),
        "")
        << shown;
    EXPECT_EQ(t->vocab_size(), c["size"]) << shown;
    for (size_t i = 0; i < golden["texts"].size(); ++i)
      EXPECT_EQ(json(t->encode(golden["texts"][i].get<std::string>())), c["ids"][i]) << golden["texts"][i] << shown;
    if (!c["eos"].is_null()) EXPECT_EQ(t->eod(), c["eos"]) << shown;
    if (!c["bos"].is_null()) EXPECT_EQ(t->bos(), c["bos"]) << shown;
    if (!c["pad"].is_null()) EXPECT_EQ(t->pad(), c["pad"]) << shown;
  }
}

}  // namespace megalith
