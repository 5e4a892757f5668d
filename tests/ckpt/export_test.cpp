// What goes along with the tensors where a checkpoint is converted: the tokenizer's files, Megatron's arguments.
#include <nlohmann/json.hpp>

#include "ckpt/convert.h"
#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/torch_dist.h"
#include "tests/ckpt/small_models.h"

namespace megalith {
namespace {

AnyCheckpoint small_model(const TempDir& dir, const char* config) {
  write_model(dir / "model", small_config(config), small_tensors(config));
  return open_any_checkpoint(dir / "model");
}

TEST(Export, copies_the_tokenizer) {
  TempDir dir;
  fs::create_directories(dir / "words");
  spit(dir / "words/tokenizer.json", "{}");
  spit(dir / "words/other.txt", "no");
  const AnyCheckpoint model = small_model(dir, kSmallLlama);
  spit(dir / "model/generation_config.json", R"({"do_sample": true})");
  convert_checkpoint(model, CkptFormat::native, dir / "n", {.asset_dirs = {dir / "words", dir / "model"}});
  convert_checkpoint(open_any_checkpoint(dir / "n"), CkptFormat::hf, dir / "hf", {.asset_dirs = {dir / "n"}});
  EXPECT_EQ(slurp(dir / "hf/tokenizer.json"), "{}");
  EXPECT_EQ(slurp(dir / "hf/generation_config.json"), R"({"do_sample": true})");
  EXPECT_FALSE(fs::exists(dir / "hf/other.txt"));
}

TEST(Export, names_the_vocabulary_by_its_kind) {
  for (const auto& [type, file] :
       {std::pair("BertWordPieceLowerCase", "vocab.txt"), {"GPT2BPETokenizer", "vocab.json"}}) {
    TempDir dir;
    spit(dir / "words", "[UNK]");
    AnyCheckpoint c = small_model(dir, kSmallLlama);
    auto config = nlohmann::ordered_json::parse(c.manifest.config_json);
    config["tokenizer_type"] = type, config["vocab_file"] = dir / "words";
    c.manifest.config_json = config.dump();
    convert_checkpoint(c, CkptFormat::hf, dir / "hf", {});
    EXPECT_EQ(slurp(dir / "hf/" + file), "[UNK]") << type;
  }
}

// Megatron's arguments take any factor of rope, and know one kind of Llama 3's scaling.
TEST(Export, tells_megatron_what_it_knows) {
  TempDir dir;
  AnyCheckpoint c = small_model(dir, kSmallLlama);
  c.model->rotary_seq_len_interpolation_factor = 2.5;
  EXPECT_EQ(unknown_to_megatron(*c.model), "");
  convert_checkpoint(c, CkptFormat::torch_dist, dir / "m", {});
  const TorchDist dist(dir / "m/iter_0000000");
  const PickleValue* factor = dist.common()->find("args")->find("rotary_seq_len_interpolation_factor");
  EXPECT_EQ(factor->kind, PickleValue::Kind::real);
  EXPECT_EQ(factor->real, 2.5);
  ModelConfig llama3 = *c.model;
  llama3.use_rope_scaling = true;
  EXPECT_EQ(unknown_to_megatron(llama3), "");
  llama3.rope_original_max_position_embeddings = 4096;
  EXPECT_NE(unknown_to_megatron(llama3).find("from 4096 positions"), std::string::npos);
  EXPECT_NE(unknown_to_megatron(parse_hf_config(kSmallBloom, "bloom").model).find("ALiBi"), std::string::npos);
  ModelConfig normed = *c.model;
  normed.qk_layernorm = true;
  EXPECT_EQ(unknown_to_megatron(normed), "");
  normed.normalization = Normalization::layer_norm;  // Megatron's norms of queries and keys would have biases
  EXPECT_EQ(unknown_to_megatron(normed), "RMS norms of queries and keys beside LayerNorm");
}

}  // namespace
}  // namespace megalith
