#include "ckpt/torch/megatron_common.h"

#include <cmath>

#include "base/check.h"
#include "base/parse_json.h"
#include "ckpt/torch/grad_scaler.h"
#include "ckpt/torch/megatron_mixture.h"
#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_file.h"

namespace megalith {
namespace {

using nlohmann::ordered_json;

// Numbers without a fraction become integers, as for Megatron's integer flags.
void put_value(PickleWriter& p, double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15)
    p.integer(i64(value));
  else
    p.real(value);
}
void put_number(PickleWriter& p, const char* key, double value) { p.text(key), put_value(p, value); }

void put_json(PickleWriter& p, const std::string& key, const ordered_json& value) {
  if (value.is_boolean())
    p.flag(key, value.get<bool>());
  else if (value.is_number_integer())
    p.entry(key, value.get<i64>());
  else if (value.is_number())
    p.entry(key, value.get<double>());
  else if (value.is_string())
    p.entry(key, value.get<std::string>());
}

void put_sizes(PickleWriter& p, const MegatronState& s) {
  const ModelConfig& m = s.model;
  p.entry("num_layers", m.num_layers);
  p.entry("hidden_size", m.hidden_size);
  p.entry("ffn_hidden_size", m.ffn_hidden_size);
  p.entry("num_attention_heads", m.num_attention_heads);
  p.flag("group_query_attention", m.num_query_groups != m.num_attention_heads);
  p.entry("num_query_groups", m.num_query_groups);
  p.entry("kv_channels", m.kv_channels);
  p.entry("seq_length", m.seq_length);
  p.entry("max_position_embeddings", m.max_position_embeddings);
  p.entry("vocab_size", m.vocab_size);
  p.entry("padded_vocab_size", s.rows);
  p.entry("make_vocab_size_divisible_by", m.make_vocab_size_divisible_by);
  if (!m.is_t5()) return;
  p.entry("encoder_num_layers", m.num_layers), p.entry("decoder_num_layers", m.t5.decoder_num_layers);
  p.entry("encoder_seq_length", m.seq_length), p.entry("decoder_seq_length", m.t5.decoder_seq_length);
  p.entry("relative_attention_num_buckets", m.t5.relative_attention_num_buckets);
  p.entry("relative_attention_max_distance", m.t5.relative_attention_max_distance);
}

// Of ordinary attention. Multi-head latent attention has other names.
void put_yarn(PickleWriter& p, const RopeScaling& s) {
  p.entry("yarn_rotary_scaling_factor", s.factor);
  p.entry("yarn_original_max_position_embeddings", s.original_length);
  p.entry("yarn_beta_fast", s.beta_fast), p.entry("yarn_beta_slow", s.beta_slow);
  p.entry("yarn_mscale", s.mscale), p.entry("yarn_mscale_all_dim", s.mscale_all_dim);
  p.flag("yarn_correction_range_round_to_int", s.whole_ends);
}

void put_latent_attention(PickleWriter& p, const ModelConfig& m) {
  const MlaConfig& mla = m.mla;
  p.flag("multi_latent_attention", mla.on());
  if (!mla.on()) return;
  p.text("q_lora_rank");
  if (mla.q_lora_rank == 0)
    p.none();
  else
    p.integer(mla.q_lora_rank);
  p.entry("kv_lora_rank", mla.kv_lora_rank), p.entry("qk_head_dim", mla.qk_head_dim);
  p.entry("qk_pos_emb_head_dim", mla.qk_pos_emb_head_dim), p.entry("v_head_dim", mla.v_head_dim);
  const RopeScaling& s = m.rope_scaling;
  const bool yarn = s.kind == RopeScaling::Kind::yarn;
  p.entry("rope_type", std::string_view(yarn ? "yarn" : "rope"));
  p.entry("rotary_scaling_factor", yarn ? s.factor : 1.0);
  p.entry("original_max_position_embeddings", yarn ? s.original_length : 4096);
  p.entry("beta_fast", s.beta_fast), p.entry("beta_slow", s.beta_slow);
  p.entry("mscale", s.mscale), p.entry("mscale_all_dim", s.mscale_all_dim);
}

void put_positions(PickleWriter& p, const ModelConfig& m) {
  constexpr const char* kTypes[] = {"learned_absolute", "rope", "alibi", "none", "yarn", "relative"};
  const bool rope = m.position_embedding_type == PositionEmbedding::rope;
  const RopeScaling& scaling = m.rope_scaling;
  const bool yarn = scaling.kind == RopeScaling::Kind::yarn;
  p.entry("position_embedding_type",
          std::string_view(yarn && !m.mla.on() ? "yarn" : kTypes[int(m.position_embedding_type)]));
  p.flag("add_position_embedding", m.position_embedding_type == PositionEmbedding::learned_absolute);
  p.flag("use_rotary_position_embeddings", rope);
  put_number(p, "rotary_base", m.rotary_base);
  p.entry("rotary_percent", m.rotary_percent);
  p.flag("rotary_interleaved", m.rotary_interleaved);
  p.text("rotary_seq_len_interpolation_factor");
  if (m.rotary_seq_len_interpolation_factor == 1)
    p.none();
  else
    put_value(p, m.rotary_seq_len_interpolation_factor);
  const bool llama3 = scaling.kind == RopeScaling::Kind::llama3;
  p.flag("use_rope_scaling", llama3);
  p.entry("rope_scaling_factor", yarn ? 8.0 : scaling.factor);
  if (yarn && !m.mla.on()) put_yarn(p, scaling);
  p.text("window_size");
  if (m.sliding_window == 0) return p.none();
  const i64 window[] = {m.sliding_window - 1, 0};
  p.sizes(window);
}

void put_layers(PickleWriter& p, const ModelConfig& m) {
  p.flag("swiglu", m.activation == Activation::swiglu);
  p.flag("quick_geglu", m.activation == Activation::quick_geglu);
  p.flag("squared_relu", m.activation == Activation::squared_relu);
  // Megatron's tanh approximation is its fused kernel with a bias, or --openai-gelu without one.
  p.flag("bias_gelu_fusion", m.activation == Activation::gelu_tanh && m.mlp_bias());
  p.flag("openai_gelu", m.activation == Activation::gelu_tanh && !m.mlp_bias());
  p.entry("normalization", std::string_view(m.normalization == Normalization::layer_norm ? "LayerNorm" : "RMSNorm"));
  p.entry("norm_epsilon", m.norm_epsilon);
  p.entry("layernorm_epsilon", m.norm_epsilon);
  p.flag("qk_layernorm", m.qk_layernorm);
  p.flag("apply_layernorm_1p", m.apply_layernorm_1p);
  p.flag("add_bias_linear", m.add_bias_linear);
  p.flag("add_qkv_bias", m.add_qkv_bias);
  p.flag("untie_embeddings_and_output_weights", m.untie_embeddings_and_output_weights);
  p.entry("attention_dropout", m.attention_dropout);
  p.entry("hidden_dropout", m.hidden_dropout);
  p.flag("fp32_residual_connection", m.fp32_residual_connection);
  p.entry("init_method_std", m.init_method_std);
  p.text("embedding_init_method_std");
  if (m.embedding_init_method_std == 0)
    p.none();
  else
    put_value(p, m.embedding_init_method_std);
  p.flag("init_method_xavier_uniform", m.init_method_xavier_uniform);
  p.text("mtp_num_layers");
  if (m.mtp.num_layers == 0)
    p.none();
  else
    put_value(p, double(m.mtp.num_layers));
  p.entry("mtp_loss_scaling_factor", m.mtp.loss_scaling_factor);
  p.flag("mtp_use_repeated_layer", m.mtp.use_repeated_layer);
  p.flag("mtp_detach_heads", m.mtp.detach_heads);
  if (m.architecture == Architecture::bert) p.flag("bert_binary_head", m.bert.binary_head());
  put_mixture(p, m);
  put_latent_attention(p, m);
}

std::string text_of(const ordered_json& j, const char* key) {
  return j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : "";
}

void put_args(PickleWriter& p, const MegatronState& s, const ordered_json& config) {
  put_sizes(p, s), put_positions(p, s.model), put_layers(p, s.model);
  for (const char* one : {"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
                          "expert_model_parallel_size", "world_size", "data_parallel_size"})
    p.entry(one, i64{1});
  p.text("virtual_pipeline_model_parallel_size"), p.none();
  p.entry("ckpt_format", std::string_view("torch_dist"));
  p.flag("async_save", false);
  p.flag("ckpt_fully_parallel_save", false);
  p.flag("no_save_rng", true);
  p.flag("no_save_optim", !s.has_optimizer);
  p.flag("use_distributed_optimizer", s.has_optimizer);
  p.flag("bf16", s.params == DType::bf16);
  p.flag("fp16", s.params == DType::f16);
  p.text("params_dtype"), p.global("torch", std::string(torch_name_of(s.params)));
  p.entry("iteration", s.manifest.iteration);
  p.entry("consumed_train_samples", s.manifest.consumed_samples);
  p.entry("consumed_valid_samples", i64{0});
  p.entry("skipped_train_samples", i64{0});
  for (const char* name : {"global_batch_size", "micro_batch_size", "train_iters", "train_samples", "seed", "lr",
                           "min_lr", "lr_decay_style", "lr_warmup_init", "weight_decay"})
    if (config.contains(name)) put_json(p, name, config[name]);
  // The optimizer's own settings, and Adam's: Megatron may update some parameters by it.
  const std::string own = text_of(config, "optimizer") + "_";
  for (const auto& [name, value] : config.items())
    if (name.starts_with("adam_") || name.starts_with(own)) put_json(p, name, value);
  for (const char* name : {"clip_grad", "optimizer", "tokenizer_type", "tokenizer_model"})
    if (config.contains(name)) put_json(p, name, config[name]);
  for (const char* name : {"decoupled_lr", "decoupled_min_lr"})
    if (config.contains(name) && config[name].is_number()) put_json(p, name, config[name]);
}

double number(const ordered_json& j, const char* key, double fallback) {
  return j.contains(key) && j[key].is_number() ? j[key].get<double>() : fallback;
}

// Two groups: matrices decay, vectors do not. A third one, before them, has the word embeddings and the output layer
// if these have their own rates: newer Megatron distinguishes groups by their rates, older takes the last. The
// schedule is the current one, which may differ from the flags': in Megatron each group continues with its own, for
// any opt_param_scheduler. Experts belong to another optimizer, which has those of the two groups that have
// parameters.
struct GroupsOf {
  bool experts, vectors;  // whether they are experts', and whether any of them is a vector
};
void put_param_groups(PickleWriter& p, const ordered_json& config, const ordered_json& schedules, i64 steps,
                      const GroupsOf& of) {
  const double lr = number(schedules, "lr", number(config, "lr", 0));
  const double min_lr = number(schedules, "min_lr", number(config, "min_lr", 0));
  const double weight_decay = number(schedules, "end_weight_decay", number(config, "weight_decay", 0.01));
  struct Group {
    double decay, max_lr, min_lr;
  };
  std::vector<Group> groups = {{1, lr, min_lr}};
  if (of.vectors) groups.push_back({0, lr, min_lr});
  if (schedules.contains("decoupled_lr") && !of.experts)
    groups.insert(groups.begin(),
                  {1, number(schedules, "decoupled_lr", lr), number(schedules, "decoupled_min_lr", min_lr)});
  p.list([&] {
    for (const auto& [decay, max_lr, least_lr] : groups)
      p.dict([&] {
        p.entry("wd_mult", decay), p.entry("lr_mult", 1.0);
        p.flag("is_expert_parallel", of.experts), p.flag("is_decoupled_lr", false), p.flag("default_config", true);
        p.entry("max_lr", max_lr), p.entry("min_lr", least_lr), p.entry("lr", max_lr);
        p.entry("weight_decay", decay * weight_decay);
        p.text("betas");
        p.tuple([&] { p.real(number(config, "adam_beta1", 0.9)), p.real(number(config, "adam_beta2", 0.999)); });
        p.entry("eps", number(config, "adam_eps", 1e-8));
        p.flag("bias_correction", true);
        p.entry("step", steps);
      });
  });
}

void put_scheduler(PickleWriter& p, const ordered_json& s, i64 samples) {
  const auto text = [&](const char* key, const char* fallback) {
    return s.contains(key) && s[key].is_string() ? s[key].get<std::string>() : std::string(fallback);
  };
  p.text("opt_param_scheduler");
  p.dict([&] {
    p.entry("max_lr", number(s, "lr", 0)), p.entry("min_lr", number(s, "min_lr", 0));
    put_number(p, "lr_warmup_steps", number(s, "lr_warmup_samples", 0));
    p.entry("num_steps", samples);
    p.entry("lr_decay_style", text("lr_decay_style", "constant"));
    put_number(p, "lr_decay_steps", number(s, "lr_decay_samples", 1));
    p.entry("start_wd", number(s, "start_weight_decay", 0)), p.entry("end_wd", number(s, "end_weight_decay", 0));
    p.entry("wd_incr_style", text("weight_decay_incr_style", "constant"));
    put_number(p, "wd_incr_steps", number(s, "weight_decay_samples", number(s, "lr_decay_samples", 1)));
  });
}

// A chain of two where the run's experts are shared out: so has Megatron-LM with as many expert-parallel ranks.
void put_optimizer(PickleWriter& p, const MegatronState& s, const ordered_json& config, const ordered_json& state) {
  const auto steps = i64(number(state, "optimizer_steps", 0));
  const auto put_one = [&](const GroupsOf& of) {
    p.dict([&] {
      p.text("optimizer");
      p.dict([&] {
        p.text("param_groups");
        put_param_groups(p, config, state.value("schedules", ordered_json::object()), steps, of);
      });
      put_grad_scaler(p, s.manifest);
      p.entry("param_state_sharding_type", std::string_view("fully_reshardable"));
    });
  };
  p.text("optimizer");
  const bool chain = has_experts(s.model) && number(config, "expert_model_parallel_size", 1) > 1;
  if (!chain) return put_one({.experts = false, .vectors = true});
  p.dict([&] {
    p.integer(0), put_one({.experts = false, .vectors = true});
    p.integer(1), put_one({.experts = true, .vectors = s.model.mlp_bias()});
  });
}

}  // namespace

std::string common_storage(const MegatronState& s) { return s.has_optimizer ? grad_scaler_storage(s.manifest) : ""; }

std::string pickle_common(const MegatronState& s) {
  const auto config = parse_json<ordered_json>(s.manifest.config_json);
  const auto state = parse_json<ordered_json>(s.manifest.state_json);
  check(config.is_object() && state.is_object(), "[save] the manifest's settings are not JSON objects");
  PickleWriter p;
  p.dict([&] {
    p.text("args");
    p.object("argparse", "Namespace", [&] { p.dict([&] { put_args(p, s, config); }); });
    p.entry("checkpoint_version", 3.0);
    p.entry("iteration", s.manifest.iteration);
    if (s.has_optimizer) put_optimizer(p, s, config, state);
    if (state.contains("schedules")) put_scheduler(p, state["schedules"], i64(number(state, "schedule_samples", 0)));
    p.entry("num_floating_point_operations_so_far", i64{0});
    p.text("content_metadata");
    p.dict([&] {
      p.entry("distrib_optim_sharding_type", std::string_view("fully_reshardable"));
      p.flag("distrib_optim_fully_reshardable_mem_efficient", false);
      p.flag("singleton_local_shards", false), p.flag("chained_optim_avoid_prefix", true);
    });
    p.text("megalith");
    p.dict([&] { p.entry("config", s.manifest.config_json), p.entry("state", s.manifest.state_json); });
  });
  return p.finish();
}

}  // namespace megalith
