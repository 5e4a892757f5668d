// Settings that may be in two parts of config.json, or in two files: the precedence.
#include "ckpt/hf/hf_token_ids.h"
#include "tests/ckpt/config_texts.h"

namespace megalith {
namespace {

json llama3_scaling() {
  return {{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}};
}

// The result of transformers 5.24: AutoConfig.for_model(type, **json), then the model's rotary_emb.inv_freq.
TEST(HfPrecedence, rope_settings_in_several_places_have_transformers_precedence) {
  const json linear = {{"rope_type", "linear"}, {"factor", 4.0}},
             theta = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  const auto base_and_factor = [](const json& j) {
    const ModelConfig m = parse(j).model;
    return std::pair(m.rotary_base, m.rotary_seq_len_interpolation_factor);
  };
  const auto both = [](json a, const json& scaling, const json& parameters) {
    a["rope_scaling"] = scaling, a["rope_parameters"] = parameters;
    return a;
  };
  json scaled = theta;
  scaled.update(linear);
  EXPECT_EQ(base_and_factor(both(kLlama, json::object(), scaled)), std::pair(5e5, 4.0));
  EXPECT_EQ(base_and_factor(both(kLlama, nullptr, scaled)), std::pair(5e5, 4.0));
  EXPECT_EQ(base_and_factor(both(kLlama, linear, theta)), std::pair(1e4, 4.0));
  const json top = changed(kLlama, "rope_theta", 7e4);
  EXPECT_EQ(base_and_factor(both(top, linear, theta)), std::pair(7e4, 4.0));
  EXPECT_EQ(base_and_factor(both(top, nullptr, theta)), std::pair(5e5, 1.0));
  EXPECT_EQ(base_and_factor(both(top, json::object(), json::object())), std::pair(7e4, 1.0));
  EXPECT_EQ(base_and_factor(changed(kLlama, "rotary_emb_base", 7e4)), std::pair(1e4, 1.0));
  EXPECT_EQ(
      base_and_factor(changed(kLlama, "rope_scaling", {{"rope_type", "linear"}, {"type", "llama3"}, {"factor", 2}})),
      std::pair(1e4, 2.0));
  const json neox = changed(changed(family("gpt_neox"), "rope_theta", 8e4), "partial_rotary_factor", 1.0);
  EXPECT_EQ(base_and_factor(neox), std::pair(1e4, 1.0));
  EXPECT_EQ(parse(neox).model.rotary_percent, 0.25);
  json older = changed(changed(neox, "rotary_emb_base", 7e4), "rotary_pct", 0.5);
  EXPECT_EQ(base_and_factor(older), std::pair(7e4, 1.0));
  EXPECT_EQ(parse(older).model.rotary_percent, 0.5);
  older["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 9e4}, {"partial_rotary_factor", 1.0}};
  EXPECT_EQ(base_and_factor(older), std::pair(9e4, 1.0));
  EXPECT_EQ(parse(older).model.rotary_percent, 1);
}

// transformers refuses scaling without its factor too. The factor 1 would leave positions unscaled.
TEST(HfPrecedence, scaling_without_a_factor_is_refused) {
  for (const char* type : {"linear", "dynamic", "yarn"}) {
    const json j = changed(kLlama, "rope_scaling", {{"type", type}});
    expect_error([&] { (void)parse(j); }, "factor is missing");
  }
}

TEST(HfPrecedence, the_original_length_at_the_top_counts_first) {
  const auto length = [](const json& j) { return parse(j).model.rope_scaling.original_length; };
  json j = changed(kLlama, "rope_scaling", llama3_scaling());
  EXPECT_EQ(length(j), 256);
  j["rope_scaling"]["original_max_position_embeddings"] = 128;
  EXPECT_EQ(length(j), 128);
  EXPECT_EQ(length(changed(j, "original_max_position_embeddings", 64)), 64);
}

// From the same line of transformers, and what it refuses.
TEST(HfPrecedence, other_settings_in_several_places) {
  const json gpt2 = {{"model_type", "gpt2"},
                     {"n_embd", 64},
                     {"hidden_size", 32},
                     {"n_layer", 2},
                     {"n_head", 4},
                     {"vocab_size", 9},
                     {"n_positions", 64},
                     {"max_position_embeddings", 16},
                     {"num_hidden_layers", 1},
                     {"num_attention_heads", 2}};
  const ModelConfig m = parse(gpt2).model;
  EXPECT_EQ(m.hidden_size, 32);
  EXPECT_EQ(m.num_layers, 1);
  EXPECT_EQ(m.num_attention_heads, 2);
  EXPECT_EQ(m.max_position_embeddings, 16);
  json bloom = gpt2;
  bloom["model_type"] = "bloom", bloom["n_embed"] = 48, bloom["hidden_size"] = 64;
  EXPECT_EQ(parse(bloom).model.hidden_size, 48);
  EXPECT_EQ(parse(bloom).model.num_layers, 1);
  json mistral = changed(family("mistral"), "num_attention_heads", 16);
  mistral.erase("num_key_value_heads"), mistral.erase("max_position_embeddings");
  EXPECT_EQ(parse(mistral).model.num_query_groups, 8);
  EXPECT_EQ(parse(mistral).model.max_position_embeddings, 131072);
  EXPECT_EQ(parse(changed(mistral, "num_key_value_heads", nullptr)).model.num_query_groups, 16);
  EXPECT_EQ(parse(changed(changed(mistral, "sliding_window", 8), "use_sliding_window", false)).model.sliding_window, 8);
  json qwen = changed(family("qwen2"), "num_attention_heads", 64);
  qwen.erase("num_key_value_heads");
  EXPECT_EQ(parse(qwen).model.num_query_groups, 32);
  EXPECT_EQ(parse(changed(family("qwen2"), "head_dim", 32)).model.kv_channels, 32);
  json window = changed(changed(family("qwen2"), "sliding_window", 8), "use_sliding_window", true);
  EXPECT_EQ(parse(changed(window, "layer_types", {"sliding_attention", "sliding_attention"})).model.sliding_window, 8);
  window["max_window_layers"] = 0;
  EXPECT_EQ(parse(changed(window, "layer_types", {"full_attention", "full_attention"})).model.sliding_window, 0);
  EXPECT_EQ(parse(changed(changed(kLlama, "model_type", "mistral"), "sliding_window", 8)).family->name, "mistral");
  expect_error([] { (void)parse(changed(family("gpt_neox"), "head_dim", 32)); }, "head_dim = 32 is not supported");
  expect_error([] { (void)parse(changed(kLlama, "text_config", {{"hidden_size", 32}})); }, "text_config is set");
}

TEST(HfPrecedence, dtype_stands_in_two_places_and_has_several_spellings) {
  EXPECT_EQ(parse(changed(changed(kLlama, "dtype", "float16"), "torch_dtype", "bfloat16")).dtype, DType::f16);
  EXPECT_EQ(parse(changed(changed(kLlama, "dtype", nullptr), "torch_dtype", "bfloat16")).dtype, DType::bf16);
  EXPECT_EQ(parse(changed(kLlama, "torch_dtype", "torch.bfloat16")).dtype, DType::bf16);
  EXPECT_EQ(parse(changed(kLlama, "dtype", "auto")).dtype, DType::f32);
}

TEST(HfPrecedence, token_ids_that_config_leaves_out_are_the_class_s) {
  const auto ids = [](const json& j) {
    const HfConfig c = parse(j);
    return std::tuple(c.bos_token_ids, c.eos_token_ids, c.pad_token_ids);
  };
  using Ids = std::vector<i64>;
  EXPECT_EQ(ids(kLlama), std::tuple(Ids{1}, Ids{2}, Ids{}));
  EXPECT_EQ(ids(changed(changed(kLlama, "eos_token_id", nullptr), "pad_token_id", 7)),
            std::tuple(Ids{1}, Ids{}, Ids{7}));
  EXPECT_EQ(ids(family("qwen3")), std::tuple(Ids{}, Ids{}, Ids{}));
  EXPECT_EQ(ids(family("gpt_neox")), std::tuple(Ids{0}, Ids{2}, Ids{}));
  EXPECT_EQ(ids(family("falcon")), std::tuple(Ids{11}, Ids{11}, Ids{}));
}

TEST(HfPrecedence, every_end_of_text_of_both_files_stops) {
  const TempDir dir;
  const auto ends = [&](const std::string& config, const json& generation) {
    fs::remove(dir / "generation_config.json");
    if (!generation.is_null()) spit(dir / "generation_config.json", generation.dump());
    const std::vector<i64> list = hf_ends_of_text(dir.path(), config);
    return std::set<i64>(list.begin(), list.end());
  };
  using Ids = std::set<i64>;
  const std::string two = changed(kLlama, "eos_token_id", {3, 4}).dump(), plain = kLlama.dump(),
                    none = changed(kLlama, "eos_token_id", nullptr).dump();
  EXPECT_EQ(ends(two, nullptr), (Ids{3, 4}));
  EXPECT_EQ(ends(two, {{"eos_token_id", 5}}), (Ids{3, 4, 5}));
  EXPECT_EQ(ends(plain, {{"eos_token_id", {5, 6}}}), (Ids{5, 6}));
  EXPECT_EQ(ends(plain, json::object()), (Ids{2}));
  EXPECT_EQ(ends(plain, nullptr), (Ids{2}));
  EXPECT_EQ(ends(none, {{"eos_token_id", nullptr}}), Ids{});
  EXPECT_EQ(ends("", {{"eos_token_id", 5}}), Ids{5});
  EXPECT_EQ(ends("", nullptr), Ids{});
  expect_error([&] { ends(plain, json::array()); }, "generation_config.json is not a JSON object");
}

}  // namespace
}  // namespace megalith
