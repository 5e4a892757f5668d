// A checkpoint of Megatron is read as its model, or refused.
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "ckpt/inspect.h"
#include "tests/ckpt/torch/megatron_files.h"

namespace megalith {
namespace {

using Entry = std::function<void(PickleWriter&)>;

ModelConfig read_with(const Entry& args) {
  TempDir dir;
  write_megatron_files(dir.path(), {.more_args = args});
  return *open_any_checkpoint(dir.path()).model;
}

Entry text(const char* name, const char* value) {
  return [=](PickleWriter& p) { p.entry(name, std::string_view(value)); };
}
Entry number(const char* name, double value) {
  return [=](PickleWriter& p) { p.entry(name, value); };
}
Entry flag(const char* name, bool value) {
  return [=](PickleWriter& p) { p.flag(name, value); };
}
Entry list(const char* name, std::vector<i64> items) {
  return [=](PickleWriter& p) {
    p.text(name);
    p.list([&] {
      for (const i64 i : items) p.integer(i);
    });
  };
}
Entry pair(const char* name, const char* first, const char* second) {
  return [=](PickleWriter& p) {
    p.text(name);
    p.list([&] { p.text(first), p.text(second); });
  };
}

TEST(MegatronModel, every_weight_of_the_files_is_one_of_the_model) {
  TempDir dir;
  const auto with = [&](const std::vector<NamedShape>& more) {
    write_megatron_files(dir.path(),
                         {.edit = [&](std::vector<NamedShape>& t) { t.insert(t.end(), more.begin(), more.end()); }});
    return open_any_checkpoint(dir.path()).tensors->tensors().size();
  };
  const std::size_t usual = with({});
  EXPECT_EQ(with({{"rotary_pos_emb.inv_freq", {1}}}), usual);  // versions of before September 2023
  expect_error(
      [&] {
        with({{"decoder.layers.mlp.router.weight", {2, 3, 8}}, {"mtp.layers.0.enorm.weight", {8}}});
      },
      "holds another model: 0 tensors missing, 0 of another shape, 2 unexpected "
      "(decoder.layers.mlp.router.weight: [2, 3, 8] there, nothing here; mtp.layers.0.enorm.weight: [8] "
      "there, nothing here)");
  expect_error([&] { with({{"decoder.layers.mlp.linear_fc1.bias", {2, 24}}}); }, "1 unexpected");
  // An output layer that contradicts the arguments; and the reverse.
  expect_error(
      [&] {
        write_megatron_files(dir.path(), {.more_args = flag("untie_embeddings_and_output_weights", false)});
        open_any_checkpoint(dir.path());
      },
      "1 unexpected (output_layer.weight");
  expect_error(
      [&] {
        write_megatron_files(dir.path(), {.more_args = flag("qk_layernorm", true)});
        open_any_checkpoint(dir.path());
      },
      "2 tensors missing");
}

TEST(MegatronModel, refuses_arguments_of_another_one) {
  const std::pair<Entry, const char*> cases[] = {
      {list("no_rope_freq", {0, 1}), "no_rope_freq [0, 1]"},
      {number("no_rope_freq", 4), "no_rope_freq 4"},
      {list("window_attn_skip_freq", {1, 0}), "window_attn_skip_freq [1, 0]"},
      {text("softmax_type", "off-by-one"), "softmax_type off-by-one"},
      {flag("qk_l2_norm", true), "qk_l2_norm True"},
      {flag("use_mup", true), "use_mup True"},
      {number("glu_linear_offset", 1), "glu_linear_offset 1"},
      {number("softmax_scale", 0.25), "softmax_scale 0.25"},
      {flag("attention_output_gate", true), "attention_output_gate True"},
      {text("experimental_attention_variant", "gdn"), "experimental_attention_variant gdn"},
      {pair("spec", "my.layers", "layer_spec"), "spec [my.layers, layer_spec]"}};
  for (const auto& [args, said] : cases) {
    const std::string message = error_of([&, a = args] { read_with(a); });
    EXPECT_EQ(message, fmt::format("[megatron] the model was trained with {}: no model here is built so", said));
  }
  // All errors in one line.
  expect_error([&] { read_with([&](PickleWriter& p) { cases[4].first(p), cases[5].first(p); }); },
               "trained with qk_l2_norm True, use_mup True:");
}

// Arguments that old and new versions of Megatron save although they have no effect.
TEST(MegatronModel, takes_their_defaults) {
  const ModelConfig model = read_with([](PickleWriter& p) {
    for (const char* none : {"num_experts", "mtp_num_layers", "no_rope_freq", "window_attn_skip_freq", "window_size",
                             "softmax_scale", "activation_func_clamp_value", "experimental_attention_variant",
                             "linear_attention_freq", "heterogeneous_layers_config_path", "hybrid_layer_pattern",
                             "hybrid_override_pattern", "spec", "rotary_seq_len_interpolation_factor"})
      p.text(none), p.none();
    for (const char* off : {"multi_latent_attention", "apply_layernorm_1p", "rotary_interleaved", "is_hybrid_model",
                            "fp8_param_gather", "apply_residual_connection_post_layernorm", "quick_geglu", "qk_l2_norm",
                            "qk_layernorm", "use_mup", "attention_output_gate", "enable_mhc_connections",
                            "retro_add_retriever", "use_te_activation_func", "add_bias_linear", "openai_gelu"})
      p.flag(off, false);
    p.flag("untie_embeddings_and_output_weights", true), p.flag("apply_query_key_layer_scaling", true);
    p.entry("softmax_type", std::string_view("vanilla")), p.entry("glu_linear_offset", 0.0);
    p.entry("normalization", std::string_view("RMSNorm")), p.entry("mup_width_mult", 1.0);
    p.entry("heterogeneous_layers_config_encoded_json", std::string_view(""));
  });
  EXPECT_EQ(model.activation, Activation::swiglu);
  EXPECT_TRUE(model.untie_embeddings_and_output_weights);
  read_with(list("no_rope_freq", {0, 0}));
  read_with(number("num_experts", 0));
  read_with(pair("spec", "megatron.core.models.gpt.gpt_layer_specs", "get_gpt_layer_local_spec"));
}

TEST(MegatronModel, takes_rope_residual_and_first_weights) {
  const ModelConfig usual = read_with([](PickleWriter& p) { p.text("embedding_init_method_std"), p.none(); });
  EXPECT_FALSE(usual.rotary_interleaved || usual.fp32_residual_connection || usual.init_method_xavier_uniform);
  EXPECT_EQ(usual.embedding_init_method_std, 0);
  const ModelConfig model = read_with([](PickleWriter& p) {
    for (const char* on : {"rotary_interleaved", "fp32_residual_connection", "init_method_xavier_uniform"})
      p.flag(on, true);
    p.entry("embedding_init_method_std", 0.5);
  });
  EXPECT_TRUE(model.rotary_interleaved && model.fp32_residual_connection && model.init_method_xavier_uniform);
  EXPECT_EQ(model.embedding_init_method_std, 0.5);
}

TEST(MegatronModel, takes_norms_of_one_more_and_quick_gates) {
  for (const char* name : {"apply_layernorm_1p", "layernorm_zero_centered_gamma"})
    EXPECT_TRUE(read_with(flag(name, true)).apply_layernorm_1p) << name;
  EXPECT_FALSE(read_with(flag("apply_layernorm_1p", false)).apply_layernorm_1p);
  const ModelConfig quick = read_with([](PickleWriter& p) { p.flag("swiglu", false), p.flag("quick_geglu", true); });
  EXPECT_EQ(quick.activation, Activation::quick_geglu);
}

TEST(MegatronModel, takes_modules_of_multi_token_prediction) {
  TempDir dir;
  MegatronFiles files;
  files.more_args = [](PickleWriter& p) {
    p.entry("mtp_num_layers", i64{1}), p.entry("mtp_loss_scaling_factor", 0.3), p.flag("mtp_detach_heads", true);
  };
  write_megatron_files(dir.path(), files);
  expect_error([&] { open_any_checkpoint(dir.path()); }, "mtp.layers.0.e");
  files.edit = [](std::vector<NamedShape>& tensors) {
    ModelConfig model = parse_hf_config(kSmallLlama, "small model").model;
    model.resolve();
    model.mtp.num_layers = 1;
    tensors = megatron_mapping(model, MegatronLayers::stacked, model.vocab_size).theirs;
  };
  TempDir whole;
  write_megatron_files(whole.path(), files);
  const AnyCheckpoint c = open_any_checkpoint(whole.path());
  EXPECT_EQ(c.model->mtp, (MtpConfig{.num_layers = 1, .loss_scaling_factor = 0.3, .detach_heads = true}));
  for (const char* name : {"enorm", "eh_proj_embedding", "eh_proj_hidden", "transformer_layer.mlp.linear_fc2"})
    EXPECT_TRUE(c.tensors->find(fmt::format("mtp.layers.0.{}.weight", name))) << name;
}

// Norms of queries and keys are RMS norms here.
TEST(MegatronModel, refuses_layer_norms_of_queries_and_keys) {
  TempDir dir;
  write_megatron_files(
      dir.path(), {.more_args = text("normalization", "LayerNorm"), .edit = [](std::vector<NamedShape>& t) {
                     t.push_back({"decoder.final_layernorm.bias", {8}});
                     for (const char* part : {"q", "k"})
                       for (const char* end : {"weight", "bias"})
                         t.push_back({fmt::format("decoder.layers.self_attention.{}_layernorm.{}", part, end), {2, 2}});
                   }});
  expect_error([&] { open_any_checkpoint(dir.path()); },
               "trained with qk_layernorm and normalization LayerNorm: of the norms of queries and keys only RMSNorm");
}

// transformer-engine uses the approximation, whatever the fused kernel would compute.
TEST(MegatronModel, knows_which_gelu) {
  const auto gelu = [](bool te) {
    TempDir dir;
    write_megatron_files(dir.path(), {.more_args =
                                          [&](PickleWriter& p) {
                                            p.flag("swiglu", false), p.flag("bias_gelu_fusion", false);
                                            p.flag("use_te_activation_func", te);
                                          },
                                      .edit =
                                          [](std::vector<NamedShape>& t) {
                                            for (NamedShape& s : t)
                                              if (s.name.ends_with("fc1.weight")) s.shape[1] /= 2;
                                          }});
    return open_any_checkpoint(dir.path()).model->activation;
  };
  EXPECT_EQ(gelu(false), Activation::gelu);
  EXPECT_EQ(gelu(true), Activation::gelu_tanh);
}

Entry step(const Entry& value) {
  return [=](PickleWriter& p) {
    p.text("optimizer");
    p.dict([&] {
      p.text("param_groups");
      p.list([&] { p.dict([&] { value(p); }); });
    });
  };
}

TEST(MegatronModel, refuses_numbers_that_no_run_has) {
  const auto refusal = [](const MegatronFiles& files) {
    TempDir dir;
    write_megatron_files(dir.path(), files);
    std::string text = error_of([&] { open_any_checkpoint(dir.path()); });
    if (const auto at = text.find(dir.path()); at != text.npos)
      text.replace(at, dir.path().size() + std::string("/iter_0000003").size(), "DIR");
    return text;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto whole = [](const char* name, i64 value) -> Entry {
    return [=](PickleWriter& p) { p.entry(name, value); };
  };
  const std::string count = ": want an integer from 0 to 2^53", version = ": only 2 and 3 are read, others ";
  const std::tuple<Entry, std::string> cases[] = {
      {whole("iteration", -1), "[megatron] the checkpoint's iteration is -1" + count},
      {number("iteration", nan), "[megatron] the checkpoint's iteration is the number nan: want an integer"},
      {number("checkpoint_version", 1), "[load] DIR: checkpoint_version is the number 1" + version},
      {text("checkpoint_version", "x"), "[load] DIR: checkpoint_version is \"x\"" + version},
      {step(whole("step", -5)), "[megatron] the optimizer's step is -5" + count},
      {step(whole("step", i64{1} << 62)), "[megatron] the optimizer's step is 4611686018427387904" + count},
      {step(number("step", 1e300)), "[megatron] the optimizer's step is the number 1e+300: want an integer"},
      {step(number("step", 1.5)), "[megatron] the optimizer's step is the number 1.5: want an integer"},
      {step(number("step", nan)), "[megatron] the optimizer's step is the number nan: want an integer"},
      {step(text("step", "a")), "[megatron] the optimizer's step is \"a\": want an integer"}};
  for (const auto& [entry, said] : cases) EXPECT_EQ(refusal({.more_common = entry}).substr(0, said.size()), said);
  EXPECT_EQ(refusal({.more_args = number("norm_epsilon", nan)}),
            "[megatron] the argument norm_epsilon is the number nan: want a finite number");
  EXPECT_EQ(refusal({.more_args = number("lr", nan)}),
            "[megatron] the argument lr is the number nan: want a finite number");
}

// PyTorch's Adam counts its steps in floats, and Megatron stores them so if it has no fused Adam.
TEST(MegatronModel, takes_whole_numbers_that_are_floats_for_counts) {
  TempDir dir;
  write_megatron_files(dir.path(), {.more_common = [](PickleWriter& p) {
                         step(number("step", 5))(p);
                         p.entry("iteration", 7.0);
                       }});
  const Manifest read = open_any_checkpoint(dir.path()).manifest;
  EXPECT_EQ(read.iteration, 7);
  EXPECT_EQ(nlohmann::json::parse(read.state_json)["optimizer_steps"], 5);
}

// Descriptors of this process's open files with this suffix, ascending.
std::set<int> open_files(const std::string& end) {
  std::set<int> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry, gone).string().ends_with(end)) found.insert(std::stoi(entry.path().filename()));
  }
  return found;
}

// All files are opened first, because a file deleted later would fail the read. A new file gets the lowest free
// descriptor.
TEST(MegatronModel, is_marked_before_it_is_read) {
  TempDir dir;
  write_megatron_files(dir.path(), {});
  const std::string place = dir / "iter_0000003";
  {
    const AnyCheckpoint c = open_any_checkpoint(dir.path());
    EXPECT_TRUE(is_being_read(place));
    const std::set<int> mark = open_files(place + "/.metadata"), rest = open_files(".distcp");
    ASSERT_EQ(mark.size(), 1u);
    ASSERT_FALSE(rest.empty());
    EXPECT_LT(*mark.begin(), *rest.begin());
  }
  EXPECT_FALSE(is_being_read(place));
  const RawCheckpoint raw = open_raw_checkpoint(dir.path());
  EXPECT_TRUE(is_being_read(place));
}

}  // namespace
}  // namespace megalith
