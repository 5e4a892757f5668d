// Files besides the tensors in a conversion: the tokenizer's files, Megatron's arguments.
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

// For a model without origin, or whose origin has no information.
TEST(Export, tells_the_tokenizers_ids) {
  TempDir dir;
  AnyCheckpoint c = small_model(dir, kSmallLlama);
  c.hf_config.clear();
  convert_checkpoint(c, CkptFormat::hf, dir / "a", {.bos_token_ids = {1}, .eos_token_ids = {2}, .pad_token_ids = {0}});
  const HfConfig told = read_hf_config(dir / "a");
  EXPECT_EQ(told.bos_token_ids, std::vector<i64>{1});
  EXPECT_EQ(told.eos_token_ids, std::vector<i64>{2});
  EXPECT_EQ(told.pad_token_ids, std::vector<i64>{0});
  const auto generation = nlohmann::json::parse(slurp(dir / "a/generation_config.json"));
  EXPECT_EQ(generation["eos_token_id"], 2);
  EXPECT_EQ(generation["pad_token_id"], 0);
  c.hf_config = R"({"model_type":"llama","hidden_size":8,"intermediate_size":12,"num_hidden_layers":2,"vocab_size":5,
                    "num_attention_heads":4,"eos_token_id":[3,4],"pad_token_id":null})";
  convert_checkpoint(c, CkptFormat::hf, dir / "b", {.eos_token_ids = {2}, .pad_token_ids = {0}});
  EXPECT_EQ(read_hf_config(dir / "b").eos_token_ids, (std::vector<i64>{3, 4}));
  EXPECT_EQ(read_hf_config(dir / "b").pad_token_ids, std::vector<i64>{0});
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

// Megatron's arguments allow any rope factor, but only one kind of Llama 3's scaling.
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
  llama3.rope_scaling.kind = RopeScaling::Kind::llama3;
  EXPECT_EQ(unknown_to_megatron(llama3), "");
  llama3.rope_scaling.original_length = 4096;
  EXPECT_NE(unknown_to_megatron(llama3).find("from 4096 positions"), std::string::npos);
  EXPECT_NE(unknown_to_megatron(parse_hf_config(kSmallBloom, "bloom").model).find("ALiBi"), std::string::npos);
  ModelConfig normed = *c.model;
  normed.qk_layernorm = true;
  EXPECT_EQ(unknown_to_megatron(normed), "");
  normed.normalization = Normalization::layer_norm;  // Megatron's norms of queries and keys would have biases
  EXPECT_EQ(unknown_to_megatron(normed), "RMS norms of queries and keys beside LayerNorm");
}

// With --use-checkpoint-opt-param-scheduler the flags have another schedule.
TEST(Export, groups_of_the_optimizer_have_the_schedule_in_effect) {
  TempDir dir;
  AnyCheckpoint c = small_model(dir, kSmallLlama);
  auto config = nlohmann::ordered_json::parse(c.manifest.config_json);
  config["lr"] = 1e-3, config["min_lr"] = 1e-4, config["weight_decay"] = 0.3;
  c.manifest.config_json = config.dump();
  const auto groups = [&](const std::string& state) {
    c.manifest.state_json = state;
    const std::string common = pickle_common({c.manifest, *c.model, 5, true, DType::bf16});
    const Pickle pickle(std::as_bytes(std::span(common)), "common");
    std::vector<double> values;
    for (const PickleValue* group : pickle.root().find("optimizer")->find("optimizer")->find("param_groups")->items)
      for (const char* name : {"max_lr", "min_lr", "lr", "weight_decay"}) values.push_back(group->find(name)->real);
    return values;
  };
  EXPECT_EQ(groups(R"({"optimizer_steps": 9, "schedules": {"lr": 3e-4, "min_lr": 3e-5, "start_weight_decay": 0.1,
                       "end_weight_decay": 0.1}})"),
            (std::vector<double>{3e-4, 3e-5, 3e-4, 0.1, 3e-4, 3e-5, 3e-4, 0}));
  EXPECT_EQ(groups(R"({"optimizer_steps": 9})"), (std::vector<double>{1e-3, 1e-4, 1e-3, 0.3, 1e-3, 1e-4, 1e-3, 0}));
}

}  // namespace
}  // namespace megalith
