// Exports of models with random weights. config.json, generation_config.json and tokenizer_config.json name the special
// tokens and the tokenizer class. If Python has transformers, it loads them.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/ckpt/torch/python.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json read(const std::string& path) { return json::parse(slurp(path)); }

// The letter with which GPT-2's vocabulary writes a byte.
std::string letter(int byte) {
  static const auto shown = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
  int code = byte, hidden = 0;
  if (!shown(byte)) {
    for (int b = 0; b < byte; ++b) hidden += !shown(b);
    code = 256 + hidden;
  }
  if (code < 128) return {char(code)};
  return {char(0xC0 | code >> 6), char(0x80 | (code & 63))};
}

class ExportTokenizer : public Workshop {
 protected:
  // --vocab-file and --merge-file of a vocabulary of bytes, with the end of text as id 256.
  std::string gpt2_files() {
    json vocab;
    for (int b = 0; b < 256; ++b) vocab[letter(b)] = b;
    vocab["<|endoftext|>"] = 256;
    spit(*this / "v.json", vocab.dump());
    spit(*this / "m.txt", "#version: 0.2\n");
    return " --tokenizer-type GPT2BPETokenizer --vocab-file " + *this / "v.json" + " --merge-file " + *this / "m.txt ";
  }
  // Trains a Llama model with the tokenizer and exports it.
  std::string exported(const std::string& tokenizer, const std::string& convert = "") {
    must(
        "pretrain-gpt --num-layers 1 --hidden-size 16 --ffn-hidden-size 24 --num-attention-heads 2 --seq-length 16 "
        "--micro-batch-size 2 "
        "--train-iters 1 --lr 1e-3 --eval-iters 0 --mock-data --position-embedding-type rope --swiglu --normalization "
        "RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --save " +
        *this / "ck" + " --save-interval 1 " + tokenizer);
    must("convert --to hf --load " + *this / "ck" + " --save " + *this / "hf " + convert);
    return *this / "hf";
  }
  void expect_transformers_loads(const std::string& dir) {
    if (!python_has("transformers, torch")) return;
    EXPECT_EQ(run_python("../../cli/load_exported.py", {dir}, *this / "python.log"), "");
  }
};

TEST_F(ExportTokenizer, Gpt2FilesUnderALlama) {
  const std::string dir = exported(gpt2_files());
  EXPECT_EQ(read(dir + "/config.json")["model_type"], "llama");
  for (const char* file : {"/config.json", "/generation_config.json"}) {
    EXPECT_EQ(read(dir + file)["eos_token_id"], 256) << file;
    EXPECT_EQ(read(dir + file)["bos_token_id"], 256) << file;
  }
  const json tokenizer = read(dir + "/tokenizer_config.json");
  EXPECT_EQ(tokenizer["tokenizer_class"], "GPT2Tokenizer");
  EXPECT_EQ(tokenizer["eos_token"], "<|endoftext|>");
  expect_transformers_loads(dir);
}

// The export keeps the content of an existing tokenizer_config.json and adds the class.
TEST_F(ExportTokenizer, ATokenizerJsonWithoutAClass) {
  json tokenizer = {{"version", "1.0"},      {"truncation", nullptr},    {"padding", nullptr},
                    {"normalizer", nullptr}, {"pre_tokenizer", nullptr}, {"post_processor", nullptr},
                    {"decoder", nullptr}};
  tokenizer["model"] = {{"type", "WordLevel"}, {"vocab", {{"a", 0}, {"<s>", 1}, {"</s>", 2}}}, {"unk_token", "a"}};
  for (const auto& [name, id] : {std::pair("<s>", 1), {"</s>", 2}})
    tokenizer["added_tokens"].push_back({{"id", id},
                                         {"content", name},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}});
  fs::create_directories(*this / "t");
  spit(*this / "t/tokenizer.json", tokenizer.dump());
  const std::string flags = " --tokenizer-type HuggingFaceTokenizer --tokenizer-model " + *this / "t";
  std::string dir = exported(flags);
  EXPECT_EQ(read(dir + "/config.json")["eos_token_id"], 2);
  EXPECT_TRUE(read(dir + "/config.json")["bos_token_id"].is_null());
  EXPECT_EQ(read(dir + "/tokenizer_config.json"),
            (json{{"tokenizer_class", "PreTrainedTokenizerFast"}, {"eos_token", "</s>"}}));
  expect_transformers_loads(dir);
  fs::remove_all(dir), fs::remove_all(*this / "ck");
  spit(*this / "t/tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>", "model_max_length": 77})");
  dir = exported(flags);
  EXPECT_EQ(read(dir + "/generation_config.json")["bos_token_id"], 1);
  const json told = read(dir + "/tokenizer_config.json");
  EXPECT_EQ(told["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(told["model_max_length"], 77);
  expect_transformers_loads(dir);
}

// A byte tokenizer has no files. The export has only the model, with the id of the end of text.
TEST_F(ExportTokenizer, ATokenizerWithoutFiles) {
  const std::string dir = exported(" --tokenizer-type NullTokenizer --vocab-size 100 ");
  EXPECT_EQ(read(dir + "/config.json")["eos_token_id"], 99);
  EXPECT_FALSE(fs::exists(dir + "/tokenizer_config.json"));
}

TEST_F(ExportTokenizer, FilesThatAreGoneAreSaid) {
  const std::string flags = gpt2_files();
  exported(flags);
  fs::remove_all(*this / "hf"), fs::rename(*this / "v.json", *this / "moved.json");
  const Ran ran = must("convert --to hf --load " + *this / "ck" + " --save " + *this / "hf");
  EXPECT_NE(ran.err.find("the tokenizer can't be read"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("give --tokenizer-dir"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace megalith::test
