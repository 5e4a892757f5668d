// What goes along with the tensors where a checkpoint is converted: the tokenizer's files, Megatron's arguments.
#include <nlohmann/json.hpp>

#include "ckpt/convert.h"
#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/torch_dist.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

TEST(Export, copies_the_tokenizer) {
  if (!fs::exists(fixture("llama"))) GTEST_SKIP() << "fixtures are not here";
  TempDir dir;
  fs::create_directories(dir / "words");
  spit(dir / "words/tokenizer.json", "{}");
  spit(dir / "words/other.txt", "no");
  convert_checkpoint(open_any_checkpoint(fixture("llama")), CkptFormat::native, dir / "n",
                     {.asset_dirs = {dir / "words", fixture("llama")}});
  convert_checkpoint(open_any_checkpoint(dir / "n"), CkptFormat::hf, dir / "hf", {.asset_dirs = {dir / "n"}});
  EXPECT_EQ(slurp(dir / "hf/tokenizer.json"), "{}");
  EXPECT_EQ(slurp(dir / "hf/generation_config.json"), slurp(fixture("llama") + "/generation_config.json"));
  EXPECT_FALSE(fs::exists(dir / "hf/other.txt"));
}

TEST(Export, names_the_vocabulary_by_its_kind) {
  if (!fs::exists(fixture("llama"))) GTEST_SKIP() << "fixtures are not here";
  for (const auto& [type, file] :
       {std::pair("BertWordPieceLowerCase", "vocab.txt"), {"GPT2BPETokenizer", "vocab.json"}}) {
    TempDir dir;
    spit(dir / "words", "[UNK]");
    AnyCheckpoint c = open_any_checkpoint(fixture("llama"));
    auto config = nlohmann::ordered_json::parse(c.manifest.config_json);
    config["tokenizer_type"] = type, config["vocab_file"] = dir / "words";
    c.manifest.config_json = config.dump();
    convert_checkpoint(c, CkptFormat::hf, dir / "hf", {});
    EXPECT_EQ(slurp(dir / "hf/" + file), "[UNK]") << type;
  }
}

// Megatron's arguments take any factor, and know one kind of Llama 3's scaling.
TEST(Export, tells_megatron_the_factors_of_rope) {
  if (!fs::exists(fixture("llama31"))) GTEST_SKIP() << "fixtures are not here";
  TempDir dir;
  AnyCheckpoint c = open_any_checkpoint(fixture("llama"));
  c.model->rotary_seq_len_interpolation_factor = 2.5;
  EXPECT_EQ(unknown_to_megatron(*c.model), "");
  convert_checkpoint(c, CkptFormat::torch_dist, dir / "m", {});
  const TorchDist dist(dir / "m/iter_0000000");
  const PickleValue* factor = dist.common()->find("args")->find("rotary_seq_len_interpolation_factor");
  EXPECT_EQ(factor->kind, PickleValue::Kind::real);
  EXPECT_EQ(factor->real, 2.5);
  ModelConfig llama3 = *open_any_checkpoint(fixture("llama31")).model;
  llama3.rope_original_max_position_embeddings = 8192, llama3.rope_low_freq_factor = 1,
  llama3.rope_high_freq_factor = 4;
  EXPECT_EQ(unknown_to_megatron(llama3), "");
  llama3.rope_original_max_position_embeddings = 4096;
  EXPECT_NE(unknown_to_megatron(llama3).find("from 4096 positions"), std::string::npos);
  EXPECT_NE(unknown_to_megatron(*open_any_checkpoint(fixture("bloom_alibi")).model).find("ALiBi"), std::string::npos);
}

}  // namespace
}  // namespace megalith
