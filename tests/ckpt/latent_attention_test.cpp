// Multi-head latent attention in files: Hugging Face's, Megatron's, and back.
#include <algorithm>
#include <span>

#include "ckpt/convert.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/megatron_mapping.h"
#include "tests/ckpt/small_models.h"

namespace megalith {
namespace {

constexpr const char* kSmallDeepseek =
    R"({"model_type":"deepseek_v3","hidden_size":8,"intermediate_size":12,"num_hidden_layers":2,"num_attention_heads":2,
        "q_lora_rank":6,"kv_lora_rank":4,"qk_nope_head_dim":3,"qk_rope_head_dim":2,"v_head_dim":5,"rms_norm_eps":1e-6,
        "first_k_dense_replace":2,"num_nextn_predict_layers":0,"vocab_size":5,
        "rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":64,"mscale":1.0,
                        "mscale_all_dim":0.5,"beta_fast":16,"beta_slow":1}})";

std::vector<std::string> names(const TensorMapping& mapping) {
  std::vector<std::string> out;
  for (const NamedShape& t : mapping.theirs) out.push_back(t.name);
  return out;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

TEST(LatentAttentionFiles, to_megatron_and_back_are_the_same_numbers) {
  TempDir dir;
  write_model(dir / "model", small_config(kSmallDeepseek), small_tensors(kSmallDeepseek));
  const AnyCheckpoint model = open_any_checkpoint(dir / "model");
  EXPECT_EQ(unknown_to_megatron(*model.model), "");
  convert_checkpoint(model, CkptFormat::torch_dist, dir / "m", {});
  AnyCheckpoint read = open_any_checkpoint(dir / "m");
  EXPECT_EQ(read.model->mla.head(), 5);
  EXPECT_EQ(read.model->rope_scaling, model.model->rope_scaling);
  read.hf_config.clear();
  convert_checkpoint(read, CkptFormat::hf, dir / "back", {});
  EXPECT_EQ(read_hf_config(dir / "back").family->name, "deepseek_v3");
  EXPECT_EQ(slurp(dir / "back/model.safetensors"), slurp(dir / "model/model.safetensors"));
}

// From arguments alone, as in Megatron's own files.
TEST(LatentAttentionFiles, megatrons_arguments_tell_the_model) {
  TempDir dir;
  write_model(dir / "model", small_config(kSmallDeepseek), small_tensors(kSmallDeepseek));
  convert_checkpoint(open_any_checkpoint(dir / "model"), CkptFormat::native, dir / "n", {});
  const AnyCheckpoint c = open_any_checkpoint(dir / "n");
  const ModelConfig& want = *c.model;
  const std::string common = pickle_common({c.manifest, want, 5, false, DType::f32});
  const Pickle pickle(std::as_bytes(std::span(common)), "common");
  const std::vector<std::string> there = names(megatron_mapping(want, MegatronLayers::stacked, 5));
  const ModelConfig got = model_of_args(
      *pickle.root().find("args"), [&](const std::string& name) { return has(there, name); }, 5, 5);
  MlaConfig mla = want.mla;
  mla.norm_epsilon = 0;  // theirs is the model's, here the same
  EXPECT_EQ(got.mla, mla);
  EXPECT_EQ(got.rope_scaling, want.rope_scaling);
  EXPECT_TRUE(got.qk_layernorm);
  EXPECT_EQ(got.norm_epsilon, 1e-6);
}

TEST(LatentAttentionFiles, names_of_both_layer_implementations) {
  const ModelConfig m = parse_hf_config(kSmallDeepseek, "small model").model;
  const auto usual = names(megatron_mapping(m, MegatronLayers::stacked, 5));
  for (const char* name :
       {"decoder.layers.input_layernorm.weight", "decoder.layers.self_attention.linear_q_down_proj.weight",
        "decoder.layers.self_attention.linear_q_up_proj.layer_norm_weight",
        "decoder.layers.self_attention.linear_kv_up_proj.layer_norm_weight",
        "decoder.layers.mlp.linear_fc1.layer_norm_weight"})
    EXPECT_TRUE(has(usual, name)) << name;
  const std::vector<std::string> local = {"decoder.layers.self_attention.q_layernorm.weight",
                                          "decoder.layers.self_attention.kv_layernorm.weight",
                                          "decoder.layers.pre_mlp_layernorm.weight"};
  const auto found =
      names(megatron_mapping(m, MegatronLayers::stacked, 5, [&](const std::string& name) { return has(local, name); }));
  for (const std::string& name : local) EXPECT_TRUE(has(found, name)) << name;
  EXPECT_EQ(found.size(), usual.size());
}

TEST(LatentAttentionFiles, what_is_not_the_same_there_is_told) {
  ModelConfig m = parse_hf_config(kSmallDeepseek, "small model").model;
  m.mla.norm_epsilon = 1e-6, m.norm_epsilon = 1e-5;
  EXPECT_EQ(unknown_to_megatron(m), "norms of latents with epsilon 1e-06 beside 1e-05");
  m.norm_epsilon = 1e-6, m.rope_scaling.attention_factor = 2;
  EXPECT_EQ(unknown_to_megatron(m), "yarn with a given attention factor");
}

}  // namespace megalith
