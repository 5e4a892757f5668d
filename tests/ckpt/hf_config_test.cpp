#include "ckpt/hf/hf_config.h"

#include "tests/ckpt/config_texts.h"

namespace megalith {
namespace {

void expect_same(const ModelConfig& a, const ModelConfig& b, const std::string& what) {
  const auto x = describe(a), y = describe(b);
  ASSERT_EQ(x.size(), y.size()) << what;
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], y[i]) << what;
  EXPECT_EQ(a.max_position_embeddings, b.max_position_embeddings) << what;
  EXPECT_EQ(a.init_method_std, b.init_method_std) << what;
  EXPECT_EQ(a.attention_dropout, b.attention_dropout) << what;
}

TEST(HfConfig, reads_the_fixtures_and_writes_them_back) {
  for (const std::string& name : all_fixtures()) {
    const HfConfig c = read_hf_config(name);
    const std::string text = write_hf_config(c);
    const HfConfig again = parse_hf_config(text, name);
    EXPECT_TRUE(c.model == again.model) << name << text;
    EXPECT_EQ(again.family, c.family);
    EXPECT_EQ(again.eos_token_ids, c.eos_token_ids);
    const bool is_v3_too = c.family->name == "deepseek_v2" && c.model.moe.num_experts == 0;  // they differ in routers
    EXPECT_EQ(choose_hf_family(c.model).name, is_v3_too ? "deepseek_v3" : c.family->name) << name;
  }
}

TEST(HfConfig, fixture_values) {
  const ModelConfig llama31 = read_hf_config(fixture("llama31")).model;
  EXPECT_EQ(llama31.rope_scaling.kind, RopeScaling::Kind::llama3);
  EXPECT_EQ(llama31.rope_scaling.factor, 8);
  EXPECT_EQ(llama31.rope_scaling.original_length, 256);
  EXPECT_EQ(llama31.rotary_base, 500000);
  EXPECT_EQ(llama31.num_query_groups, 2);
  EXPECT_TRUE(llama31.untie_embeddings_and_output_weights);
  EXPECT_EQ(read_hf_config(fixture("mistral_swa")).model.sliding_window, 6);
  const ModelConfig qwen2 = read_hf_config(fixture("qwen2")).model;
  EXPECT_TRUE(qwen2.add_qkv_bias);
  EXPECT_FALSE(qwen2.add_bias_linear);
  EXPECT_FALSE(qwen2.untie_embeddings_and_output_weights);
  EXPECT_EQ(read_hf_config(fixture("qwen3")).model.kv_channels, 8);
  const ModelConfig neox = read_hf_config(fixture("gpt_neox")).model;
  EXPECT_EQ(neox.rotary_percent, 0.5);
  EXPECT_EQ(neox.activation, Activation::gelu);
  EXPECT_TRUE(neox.parallel_residual && !neox.parallel_shared_norm);
  const ModelConfig bloom = read_hf_config(fixture("bloom_alibi")).model;
  EXPECT_EQ(bloom.activation, Activation::gelu_tanh);
  EXPECT_EQ(bloom.position_embedding_type, PositionEmbedding::alibi);
  EXPECT_TRUE(bloom.embedding_layernorm);
  const ModelConfig falcon = read_hf_config(fixture("falcon")).model;
  EXPECT_TRUE(falcon.parallel_residual && !falcon.parallel_shared_norm && !falcon.add_bias_linear);
  EXPECT_EQ(falcon.num_query_groups, 2);
  EXPECT_EQ(falcon.activation, Activation::gelu);
  EXPECT_EQ(read_hf_config(fixture("gpt2")).model.ffn_hidden_size, 64);
}

TEST(HfConfig, older_and_newer_keys_mean_the_same) {
  json v4 = kLlama, v5 = kLlama;
  v4["rope_theta"] = 5e5;
  v4["torch_dtype"] = "bfloat16";
  json scaling = {{"rope_type", "llama3"},
                  {"factor", 8.0},
                  {"low_freq_factor", 1.0},
                  {"high_freq_factor", 4.0},
                  {"original_max_position_embeddings", 8192}};
  v4["rope_scaling"] = scaling;
  scaling["rope_theta"] = 5e5;
  v5["rope_parameters"] = scaling;
  v5["dtype"] = "bfloat16";
  EXPECT_TRUE(parse(v4).model == parse(v5).model);
  EXPECT_EQ(parse(v4).dtype, DType::bf16);
  EXPECT_EQ(parse(v5).dtype, DType::bf16);
  EXPECT_EQ(parse(v5).model.rotary_base, 5e5);
  v4["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(parse(v4).model.rotary_seq_len_interpolation_factor, 2);
  EXPECT_EQ(parse(changed(kLlama, "eos_token_id", {1, 2})).eos_token_ids, (std::vector<i64>{1, 2}));
}

TEST(HfConfig, defaults_of_absent_and_null_keys) {
  EXPECT_EQ(parse(kLlama).model.kv_channels, 16);
  EXPECT_EQ(parse(changed(kLlama, "head_dim", nullptr)).model.kv_channels, 16);
  EXPECT_EQ(parse(family("qwen3")).model.kv_channels, 128);
  EXPECT_EQ(parse(family("mistral")).model.sliding_window, 4096);
  EXPECT_EQ(parse(changed(family("mistral"), "sliding_window", nullptr)).model.sliding_window, 0);
  EXPECT_EQ(parse(changed(family("qwen2"), "sliding_window", 8)).model.sliding_window, 0);
  json window = changed(changed(family("qwen2"), "sliding_window", 8), "use_sliding_window", true);
  EXPECT_EQ(parse(window).model.sliding_window, 0);  // max_window_layers is 28
  EXPECT_EQ(parse(changed(window, "max_window_layers", 0)).model.sliding_window, 8);
  EXPECT_EQ(parse(changed(family("gpt_neox"), "rotary_pct", 0.5)).model.rotary_percent, 0.5);
  EXPECT_EQ(parse(family("gpt_neox")).model.rotary_percent, 0.25);
  const json published_bloom = {
      {"model_type", "bloom"}, {"n_embed", 64}, {"n_layer", 2}, {"num_attention_heads", 4}, {"vocab_size", 160}};
  EXPECT_EQ(parse(published_bloom).model.hidden_size, 64);
  const json falcon7b = {{"model_type", "falcon"},
                         {"hidden_size", 64},
                         {"num_attention_heads", 4},
                         {"num_hidden_layers", 2},
                         {"new_decoder_architecture", false},
                         {"multi_query", true},
                         {"parallel_attn", true},
                         {"vocab_size", 160}};
  const ModelConfig m = parse(falcon7b).model;
  EXPECT_TRUE(m.parallel_residual && m.parallel_shared_norm);
  EXPECT_EQ(m.num_query_groups, 1);
}

TEST(HfConfig, refuses_by_name_and_value) {
  const auto refused = [](const json& j, const std::string& part) { expect_error([&] { (void)parse(j); }, part); };
  refused(changed(kLlama, "architectures", {"OPTForCausalLM"}),
          "OPTForCausalLM\" is not supported; we have GPT2LMHeadModel");
  refused(family("opt"), "\"opt\" is not supported");
  refused(json::array(), "not a JSON object");
  refused(changed(kLlama, "hidden_act", "relu"), "hidden_act = \"relu\"");
  refused(changed(family("gpt_neox"), "attention_bias", false), "attention_bias = false");
  refused(changed(family("gpt_neox"), "hidden_act", "relu"), "hidden_act = \"relu\"");
  refused(changed(kLlama, "rope_scaling", {{"rope_type", "su"}, {"factor", 4}}), "rope_type = \"su\"");
  refused(changed(kLlama, "rope_scaling", {{"rope_type", "llama3"}, {"factor", 4}}), "low_freq_factor is missing");
  refused(changed(kLlama, "rope_parameters", {{"full_attention", json::object()}}), "one set of rope settings");
  refused(changed(kLlama, "partial_rotary_factor", 0.5), "partial_rotary_factor = 0.5");
  refused(changed(kLlama, "quantization_config", {{"quant_method", "gptq"}}), "quantization_config");
  refused(changed(kLlama, "hidden_size", "64"), "hidden_size is \"64\"");
  refused(changed(kLlama, "hidden_size", 0), "hidden_size is 0");
  refused(changed(kLlama, "hidden_size", 1e99), "hidden_size is");
  refused(changed(kLlama, "hidden_size", 66), "66 is not a multiple of 4");
  refused(changed(kLlama, "num_key_value_heads", 3), "not a multiple of 3");
  refused(changed(kLlama, "vocab_size", nullptr), "vocab_size is missing");
  refused(changed(kLlama, "torch_dtype", "int8"), "int8");
  refused(changed(kLlama, "num_hidden_layers", 2000000000), "no such model");
  json mixed = changed(changed(family("qwen2"), "sliding_window", 8), "use_sliding_window", true);
  refused(changed(mixed, "layer_types", {"full_attention", "sliding_attention"}), "in 1 of 2 layers");
  refused(changed(mixed, "layer_types", {"full_attention", "linear_attention"}), "linear_attention");
  refused(changed(mixed, "max_window_layers", 1), "in 1 of 2 layers");
  const json gpt2 = {{"model_type", "gpt2"}, {"n_embd", 64}, {"n_layer", 2}, {"n_head", 4}, {"vocab_size", 160}};
  EXPECT_NO_THROW(parse(gpt2));
  refused(changed(gpt2, "scale_attn_by_inverse_layer_idx", true), "scale_attn_by_inverse_layer_idx = true");
  refused(changed(gpt2, "scale_attn_weights", false), "scale_attn_weights = false");
  refused(changed(gpt2, "activation_function", "relu"), "relu");
  refused(changed(gpt2, "add_cross_attention", true), "add_cross_attention");
  json bloom = {{"model_type", "bloom"}, {"hidden_size", 64}, {"n_layer", 2}, {"n_head", 4}, {"vocab_size", 160}};
  refused(changed(bloom, "apply_residual_connection_post_layernorm", true),
          "apply_residual_connection_post_layernorm = true");
  json falcon = {{"model_type", "falcon"},
                 {"hidden_size", 64},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},
                 {"vocab_size", 160}};
  refused(changed(falcon, "num_ln_in_parallel_attn", 2), "num_ln_in_parallel_attn = 2");
}

// Messages show values, but must not recurse into a value that is nested two million deep.
TEST(HfConfig, refuses_depths_that_no_model_has) {
  const std::string deep =
      R"({"model_type":"llama","hidden_size":)" + std::string(2'000'000, '[') + std::string(2'000'000, ']') + "}";
  expect_error([&] { parse_hf_config(deep, "config.json"); }, "config.json is nested more than 64 levels deep");
  expect_error([&] { is_our_hf_architecture(deep, "config.json"); }, "config.json is nested more than 64 levels deep");
}

TEST(HfConfig, writes_every_variant_that_a_family_has) {
  ModelConfig llama = parse(kLlama).model;
  const auto survives = [](const char* family, const ModelConfig& m) {
    const HfConfig c{.family = &hf_family(family), .model = m, .dtype = DType::bf16, .eos_token_ids = {3, 4}};
    const HfConfig again = parse_hf_config(write_hf_config(c), "x");
    expect_same(again.model, m, family);
    EXPECT_EQ(again.dtype, DType::bf16);
    EXPECT_EQ(again.eos_token_ids, c.eos_token_ids);
  };
  survives("llama", llama);
  llama.add_bias_linear = true;
  survives("llama", llama);
  llama.add_bias_linear = false, llama.add_attention_bias = true;
  survives("llama", llama);
  std::swap(llama.add_attention_bias, llama.add_mlp_bias);
  survives("llama", llama);
  llama.add_mlp_bias = false, llama.rotary_seq_len_interpolation_factor = 2, llama.kv_channels = 24;
  survives("llama", llama);
  llama.sliding_window = 7;
  survives("mistral", llama);
  EXPECT_EQ(choose_hf_family(llama).name, "mistral");
  llama.qk_layernorm = true;
  survives("qwen3", llama);
  llama.add_attention_bias = true;
  survives("qwen3", llama);
  llama.add_attention_bias = false;
  llama.qk_layernorm = false, llama.add_qkv_bias = true, llama.kv_channels = 16;
  survives("qwen2", llama);
  json j = {{"model_type", "falcon"},
            {"hidden_size", 64},
            {"num_hidden_layers", 2},
            {"num_attention_heads", 4},
            {"vocab_size", 160}};
  for (const bool grouped : {false, true})
    for (const bool query : {false, true})
      for (const bool bias : {false, true})
        for (const i64 norms : {1, 2}) {
          if (norms == 2 && !grouped) continue;
          j.update({{"new_decoder_architecture", grouped},
                    {"multi_query", query},
                    {"bias", bias},
                    {"num_ln_in_parallel_attn", norms}});
          j["num_kv_heads"] = grouped ? 2 : query ? 1 : 4;
          survives("falcon", parse(j).model);
        }
  j.update({{"alibi", true}});
  survives("falcon", parse(j).model);
  EXPECT_EQ(choose_hf_family(parse(j).model).name, "falcon");
  j.update({{"alibi", false}});
  survives("falcon", parse(changed(changed(changed(j, "new_decoder_architecture", false), "parallel_attn", false),
                                   "num_ln_in_parallel_attn", 1))
                         .model);
}

TEST(HfConfig, refuses_to_write_what_would_be_another_model) {
  HfConfig c{.family = &hf_family("llama"), .model = parse(kLlama).model};
  c.model.sliding_window = 8;
  expect_error([&] { (void)write_hf_config(c); }, "sliding_window = 0, not 8");
  c.model.sliding_window = 0, c.model.activation = Activation::squared_relu;
  expect_error([&] { (void)write_hf_config(c); }, "activation = swiglu, not squared_relu");
  expect_error([&] { (void)choose_hf_family(c.model); }, "as mistral the model would have");
  c.model = {};
  expect_error([&] { (void)write_hf_config(c); }, "does not have its num_layers");
  c.model = parse(kLlama).model, c.model.max_position_embeddings = 0;
  EXPECT_EQ(error_of([&] { (void)choose_hf_family(c.model); }),  // reported once, not for each family
            "[hf] the checkpoint does not have its max_position_embeddings, which config.json needs: write native or "
            "torch_dist");
  ModelConfig narrow = parse(kLlama).model;
  narrow.position_embedding_type = PositionEmbedding::none;
  expect_error([&] { (void)choose_hf_family(narrow); }, "position_embedding_type = rope, not none");
  ModelConfig neighbours = parse(kLlama).model;
  neighbours.rotary_interleaved = true;
  expect_error([&] { (void)choose_hf_family(neighbours); }, "rotary_interleaved = false, not true");
}

}  // namespace
}  // namespace megalith
