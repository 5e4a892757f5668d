// Mixtures of experts in Megatron's torch_dist: names, arguments, optimizers, and back to the same bytes.
#include <algorithm>
#include <span>

#include "ckpt/convert.h"
#include "ckpt/native/model_json.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/megatron_save.h"
#include "ckpt/torch/optimizer_state.h"
#include "tests/ckpt/torch/megatron_files.h"

namespace megalith {
namespace {

constexpr const char* kMixtral =
    R"({"model_type":"mixtral","hidden_size":8,"intermediate_size":6,"num_hidden_layers":2,"num_attention_heads":2,
        "num_key_value_heads":2,"num_local_experts":4,"num_experts_per_tok":2,"vocab_size":5})";
constexpr const char* kDeepseek =
    R"({"model_type":"deepseek_v3","hidden_size":8,"intermediate_size":12,"num_hidden_layers":3,"num_attention_heads":2,
        "q_lora_rank":6,"kv_lora_rank":4,"qk_nope_head_dim":3,"qk_rope_head_dim":2,"v_head_dim":5,"rms_norm_eps":1e-6,
        "first_k_dense_replace":1,"moe_intermediate_size":6,"n_routed_experts":4,"n_shared_experts":2,
        "num_experts_per_tok":2,"n_group":2,"topk_group":1,"num_nextn_predict_layers":0,"vocab_size":5})";

ModelConfig model_of(const char* config) {
  ModelConfig m = parse_hf_config(config, "small model").model;
  m.resolve();
  return m;
}

Shape shape_in(const TensorMapping& mapping, const std::string& name) {
  const auto at = std::ranges::find(mapping.theirs, name, &NamedShape::name);
  return at == mapping.theirs.end() ? Shape{} : at->shape;
}

TensorMapping mapping_of(const ModelConfig& m) { return megatron_mapping(m, megatron_layers(m), m.vocab_size); }

ModelConfig read_back(const ModelConfig& m, const Manifest& manifest = {0, 0, "{}", "{}"}) {
  const std::string common = pickle_common({manifest, m, m.vocab_size, false, DType::f32});
  const Pickle pickle(std::as_bytes(std::span(common)), "common");
  const TensorMapping mapping = mapping_of(m);
  const auto has = [&](std::string name) {
    constexpr std::string_view kLayers = "decoder.layers.";
    if (megatron_layers(m) == MegatronLayers::separate && name.starts_with(kLayers)) name.insert(kLayers.size(), "0.");
    return !shape_in(mapping, name).empty();
  };
  return model_of_args(*pickle.root().find("args"), has, m.vocab_size, m.vocab_size);
}

}  // namespace

TEST(MixtureFiles, to_megatron_and_back_are_the_same_numbers) {
  for (const char* config : {kMixtral, kDeepseek}) {
    TempDir dir;
    write_model(dir / "model", small_config(config), small_tensors(config));
    const AnyCheckpoint model = open_any_checkpoint(dir / "model");
    const ConvertOptions bf16{.type = DType::bf16};
    convert_checkpoint(model, CkptFormat::torch_dist, dir / "m", {});
    convert_checkpoint(model, CkptFormat::torch_dist, dir / "half", bf16);
    AnyCheckpoint read = open_any_checkpoint(dir / "m");
    read.hf_config.clear();
    convert_checkpoint(read, CkptFormat::hf, dir / "back", {});
    EXPECT_EQ(slurp(dir / "back/model.safetensors"), slurp(dir / "model/model.safetensors"));
    const AnyCheckpoint half = open_any_checkpoint(dir / "half");
    for (const TensorSpec& t : half.tensors->tensors())
      EXPECT_EQ(t.dtype, t.name.ends_with(".expert_bias") ? DType::f32 : DType::bf16) << t.name;
  }
}

// As Megatron Core 0.16.1 has them (reference: its own runs, which cli_test trains on).
TEST(MixtureFiles, layers_stand_side_by_side_where_all_are_alike) {
  ModelConfig m = model_of(kMixtral);
  m.moe.router_enable_expert_bias = true, m.moe.shared_expert_intermediate_size = 10, m.moe.shared_expert_gate = true;
  const TensorMapping there = mapping_of(m);
  EXPECT_EQ(shape_in(there, "decoder.layers.mlp.router.weight"), (Shape{2, 4, 8}));
  EXPECT_EQ(shape_in(there, "decoder.layers.mlp.router.expert_bias"), (Shape{2, 4}));
  EXPECT_EQ(shape_in(there, "decoder.layers.mlp.experts.experts.linear_fc1.weight"), (Shape{2, 4, 12, 8}));
  EXPECT_EQ(shape_in(there, "decoder.layers.mlp.experts.experts.linear_fc2.weight"), (Shape{2, 4, 8, 6}));
  EXPECT_EQ(shape_in(there, "decoder.layers.mlp.shared_experts.linear_fc1.weight"), (Shape{2, 20, 8}));
  EXPECT_EQ(shape_in(there, "decoder.layers.mlp.shared_experts.linear_fc2.weight"), (Shape{2, 8, 10}));
  EXPECT_EQ(shape_in(there, "decoder.layers.mlp.shared_experts.gate_weight"), (Shape{2, 1, 8}));
  EXPECT_EQ(shape_in(there, "decoder.layers.pre_mlp_layernorm.weight"), (Shape{2, 8}));
  m.moe.layer_freq = "[1,1]";  // a list gives each layer its number
  EXPECT_EQ(shape_in(mapping_of(m), "decoder.layers.1.mlp.experts.experts.linear_fc1.weight"), (Shape{4, 12, 8}));
  m.moe.latent_size = 4;
  const TensorMapping latent = mapping_of(m);
  EXPECT_EQ(shape_in(latent, "decoder.layers.0.mlp.fc1_latent_proj.weight"), (Shape{4, 8}));
  EXPECT_EQ(shape_in(latent, "decoder.layers.0.mlp.fc2_latent_proj.weight"), (Shape{8, 4}));
  EXPECT_EQ(shape_in(latent, "decoder.layers.0.mlp.experts.experts.linear_fc2.weight"), (Shape{4, 4, 6}));
}

TEST(MixtureFiles, dense_layers_and_mixtures_have_their_own_norms) {
  ModelConfig m = model_of(kDeepseek);
  m.mtp.num_layers = 1;
  const TensorMapping there = mapping_of(m);
  for (const char* name :
       {"decoder.layers.0.mlp.linear_fc1.layer_norm_weight", "decoder.layers.1.pre_mlp_layernorm.weight",
        "mtp.layers.0.transformer_layer.pre_mlp_layernorm.weight"})
    EXPECT_EQ(shape_in(there, name), Shape{8}) << name;
  EXPECT_EQ(shape_in(there, "mtp.layers.0.transformer_layer.mlp.experts.experts.linear_fc1.weight"), (Shape{4, 12, 8}));
  EXPECT_EQ(shape_in(there, "mtp.layers.0.transformer_layer.mlp.router.expert_bias"), Shape{4});
  // Megatron's local layers name a mixture's tensors like a dense layer's.
  const TensorMapping local =
      megatron_mapping(m, MegatronLayers::separate, 5, [](const std::string&) { return false; });
  EXPECT_EQ(shape_in(local, "decoder.layers.1.mlp.linear_fc1.layer_norm_weight"), Shape{8});
}

TEST(MixtureFiles, megatrons_arguments_tell_the_mixture) {
  ModelConfig m = model_of(kMixtral);
  m.moe.ffn_hidden_size = 6;  // theirs always has it
  MoeConfig& e = m.moe;
  e.layer_freq = "1", e.router_dtype = RouterDtype::fp32;
  EXPECT_EQ(read_back(m).moe, e);
  e.layer_freq = "[0,1]", e.router_topk = 1, e.router_score_function = RouterScore::sigmoid;
  e.router_pre_softmax = true, e.router_topk_scaling_factor = 2.5, e.router_dtype = RouterDtype::fp64;
  e.router_num_groups = 2, e.router_group_topk = 1, e.router_enable_expert_bias = true;
  e.router_bias_update_rate = 0.25, e.router_load_balancing_type = {"aux_loss", "seq_aux_loss"};
  e.aux_loss_coeff = {0.125, 3}, e.z_loss_coeff = 0.5, e.input_jitter_eps = 0.75, e.expert_capacity_factor = 1.25;
  e.pad_expert_input_to_capacity = true, e.token_drop_policy = TokenDrop::position, e.apply_probs_on_input = true;
  e.shared_expert_intermediate_size = 12, e.shared_expert_gate = true, e.latent_size = 4;
  EXPECT_EQ(read_back(m).moe, e);
  EXPECT_EQ(unknown_to_megatron(m), "");
  e.router_group_best = 2;
  EXPECT_EQ(unknown_to_megatron(m), "groups of experts by the sum of 2 best beside 1 of 1 experts");
  EXPECT_EQ(read_back(model_of(kSmallLlama)).moe, MoeConfig{});
}

TEST(MixtureFiles, refuses_arguments_that_are_not_known) {
  TempDir dir;
  const auto refused = [&](const char* name, const char* value, const std::string& message) {
    write_megatron_files(dir.path(), {.more_args = [&](PickleWriter& p) {
                           p.entry("num_experts", i64{4}), p.entry(name, std::string_view(value));
                         }});
    expect_error([&] { open_any_checkpoint(dir.path()); }, message);
  };
  refused("moe_router_score_function", "cosine",
          "[megatron] the argument moe_router_score_function is cosine: known are softmax, sigmoid, sqrtsoftplus");
  write_megatron_files(dir.path(), {.more_args = [&](PickleWriter& p) {
                         p.entry("num_experts", i64{1000000}), p.entry("num_layers", i64{100000});
                       }});
  expect_error([&] { open_any_checkpoint(dir.path()); }, "100000 layers of 1000000 experts: no such model fits any");
  refused("moe_token_drop_policy", "none", "the argument moe_token_drop_policy is none: known are probs, position");
}

// Megatron Core has one optimizer for all, or another one for experts with expert parallelism.
TEST(MixtureFiles, experts_that_ranks_share_have_an_optimizer_of_their_own) {
  const ModelConfig m = model_of(kMixtral);
  const auto optimizer = [&](const char* config, const std::function<void(const PickleValue&)>& see) {
    const Manifest manifest{3, 12, config, R"({"optimizer_steps": 3})"};
    const std::string common = pickle_common({manifest, m, m.vocab_size, true, DType::f32});
    const Pickle pickle(std::as_bytes(std::span(common)), "common");
    EXPECT_EQ(optimizer_steps(pickle.root().find("optimizer")), 3);
    see(*pickle.root().find("optimizer"));
  };
  const auto groups = [](const PickleValue& o) { return o.find("optimizer")->find("param_groups")->items; };
  optimizer("{}", [&](const PickleValue& o) {
    ASSERT_EQ(groups(o).size(), 2u);
    EXPECT_EQ(groups(o)[1]->find("is_expert_parallel")->integer, 0);
  });
  optimizer(R"({"expert_model_parallel_size": 2})", [&](const PickleValue& o) {
    ASSERT_EQ(o.items.size(), 4u);
    ASSERT_EQ(o.items[0]->kind, PickleValue::Kind::integer) << "numbered";
    EXPECT_EQ(groups(*o.items[1]).size(), 2u);
    ASSERT_EQ(groups(*o.items[3]).size(), 1u);  // no vectors
    EXPECT_EQ(groups(*o.items[3])[0]->find("is_expert_parallel")->integer, 1);
    EXPECT_EQ(groups(*o.items[3])[0]->find("wd_mult")->real, 1);
  });
}

TEST(MixtureFiles, reads_the_state_of_each_optimizer_of_a_chain) {
  TempDir dir;
  ModelConfig m = model_of(kMixtral);
  m.moe.router_enable_expert_bias = true;  // which has no state
  const TensorMapping there = mapping_of(m);
  std::vector<NamedShape> tensors = there.theirs;
  for (const NamedShape& t : trained_part(m, there).theirs) {
    const int chain = t.name.find(".experts.experts.") == t.name.npos ? 0 : 1;
    for (const char* kind : kStateKinds)
      tensors.push_back({fmt::format("chained_{}.{}{}.{}", chain, kMegatronState, kind, t.name), t.shape});
  }
  const std::string common = pickle_common({{3, 12, model_to_json(m), "{}"}, m, m.vocab_size, false, DType::bf16});
  save_torch_dist(dir.path(), 3, {common}, FilledTensors(tensors, DType::f32));
  AnyCheckpoint c = open_any_checkpoint(dir.path());
  EXPECT_EQ(c.state_problem, "");
  for (const char* name : {"decoder.layers.1.mlp.experts.linear_fc1.weight", "decoder.layers.0.mlp.router.weight"}) {
    EXPECT_TRUE(c.tensors->find(name)) << name;
    EXPECT_TRUE(c.tensors->find(std::string("optimizer.exp_avg_sq.") + name)) << name;
  }
  EXPECT_TRUE(c.tensors->find("decoder.layers.1.mlp.router.expert_bias"));
  EXPECT_FALSE(c.tensors->find("optimizer.exp_avg.decoder.layers.1.mlp.router.expert_bias"));
}

// One tensor of each expert's linear layers, in the right number.
TEST(MixtureFiles, names_the_objects_that_its_modules_ask_for) {
  ModelConfig m = model_of(kMixtral);
  const auto has = [&](const std::string& name) {
    const std::vector<std::string> all = extra_state_names(m);
    return std::ranges::find(all, name) != all.end();
  };
  EXPECT_TRUE(has("decoder.layers.mlp.experts.experts.linear_fc1._extra_state/shard_1.3_2.4"));
  EXPECT_TRUE(has("decoder.layers.pre_mlp_layernorm._extra_state/shard_1_2"));
  EXPECT_FALSE(has("decoder.layers.mlp.linear_fc1._extra_state/shard_0_2"));
  m.moe.layer_freq = "[0,1]", m.moe.shared_expert_intermediate_size = 10;
  EXPECT_TRUE(has("decoder.layers.0.mlp.linear_fc1._extra_state/shard_0_1"));
  EXPECT_TRUE(has("decoder.layers.1.mlp.experts.experts.linear_fc2._extra_state/shard_3_4"));
  EXPECT_TRUE(has("decoder.layers.1.mlp.shared_experts.linear_fc2._extra_state/shard_0_1"));
}

// The number of experts is checked: one missing, and one too many.
TEST(MixtureFiles, refuses_files_that_are_not_the_models) {
  const ModelConfig m = model_of(kMixtral);
  const std::string common = pickle_common({{3, 12, model_to_json(m), "{}"}, m, m.vocab_size, false, DType::bf16});
  const auto refused = [&](const std::function<void(std::vector<NamedShape>&)>& edit, const std::string& message) {
    TempDir dir;
    std::vector<NamedShape> tensors = mapping_of(m).theirs;
    edit(tensors);
    save_torch_dist(dir.path(), 3, {common}, FilledTensors(tensors, DType::bf16));
    expect_error([&] { open_any_checkpoint(dir.path(), {.format = CkptFormat::torch_dist}); }, message);
  };
  const std::string fc2 = "decoder.layers.mlp.experts.experts.linear_fc2.weight";
  refused([&](auto& t) { std::erase_if(t, [&](const NamedShape& s) { return s.name == fc2; }); },
          "1 tensors missing, 0 of another shape");
  refused([&](auto& t) { std::ranges::find(t, fc2, &NamedShape::name)->shape[1] = 5; }, "1 of another shape");
}

}  // namespace megalith
