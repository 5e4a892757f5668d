#include "ckpt/torch/megatron_args.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"
#include "ckpt/native/model_json.h"
#include "ckpt/torch/megatron_arg_values.h"
#include "ckpt/torch/megatron_mixture.h"
#include "ckpt/torch/unbuilt_args.h"

namespace megalith {
namespace {

using Kind = PickleValue::Kind;
using nlohmann::ordered_json;

constexpr i64 kMostExperts = i64{1} << 22;  // of all layers

void read_sizes(const Args& a, ModelConfig& m, i64 rows, i64 vocab_size) {
  m.num_layers = a.required("num_layers"), m.hidden_size = a.required("hidden_size");
  m.num_attention_heads = a.required("num_attention_heads");
  m.ffn_hidden_size = a.size("ffn_hidden_size").value_or(0);
  m.kv_channels = a.size("kv_channels").value_or(0);
  // Without grouped-query attention the argument is 1 and means nothing.
  if (a.flag("group_query_attention").value_or(true)) m.num_query_groups = a.size("num_query_groups").value_or(0);
  m.seq_length = a.size("seq_length").value_or(0);
  m.max_position_embeddings = a.size("max_position_embeddings").value_or(m.seq_length);
  m.make_vocab_size_divisible_by = a.size("make_vocab_size_divisible_by").value_or(128);
  m.vocab_size = a.size("vocab_size").value_or(vocab_size > 0 ? vocab_size : rows);
  check(m.num_layers <= 100000 && m.hidden_size <= 1 << 24 && m.num_attention_heads <= m.hidden_size * 64,
        "[megatron] the saved arguments give {} layers of width {}: no such model fits any machine", m.num_layers,
        m.hidden_size);
  check(m.vocab_size > 0 && m.vocab_size <= rows,
        "[megatron] a vocabulary of {} does not fit the embedding of {} rows: give another --vocab-size", m.vocab_size,
        rows);
}

// The arguments do not name the program: the tensors show it.
void read_bert(const HasTensor& has, ModelConfig& m) {
  if (!has(kBertHead)) return;
  m.architecture = Architecture::bert;
  m.bert.no_binary_head = !has("binary_head.weight");
  m.bert.token_types = has("embedding.tokentype_embeddings.weight") ? 2 : 0;
}

void read_encoder_decoder(const Args& a, const HasTensor& has, ModelConfig& m) {
  if (!has("decoder.layers.cross_attention.linear_q.weight")) return;
  m.architecture = Architecture::t5;
  T5ModelConfig& t = m.t5;
  t.decoder_num_layers = a.size("decoder_num_layers").value_or(0);
  t.decoder_seq_length = a.required("decoder_seq_length");
  t.relative_attention_num_buckets = a.size("relative_attention_num_buckets").value_or(32);
  t.relative_attention_max_distance = a.size("relative_attention_max_distance").value_or(128);
  t.no_head_bias = !has("lm_head.output_layer.bias");
}

void read_layers(const Args& a, const HasTensor& has, ModelConfig& m) {
  // Its fused kernel and transformer-engine's operation are tanh's approximation.
  const bool gelu = !a.flag("bias_gelu_fusion").value_or(true) && !a.flag("openai_gelu").value_or(false) &&
                    !a.flag("use_te_activation_func").value_or(false);
  m.activation = a.flag("swiglu").value_or(false)         ? Activation::swiglu
                 : a.flag("quick_geglu").value_or(false)  ? Activation::quick_geglu
                 : a.flag("squared_relu").value_or(false) ? Activation::squared_relu
                 : gelu                                   ? Activation::gelu
                                                          : Activation::gelu_tanh;
  const bool biased_norm = has("decoder.final_layernorm.bias");
  m.normalization = biased_norm ? Normalization::layer_norm : Normalization::rms_norm;
  const std::string norm = a.text("normalization");
  check(norm.empty() || norm == (biased_norm ? "LayerNorm" : "RMSNorm"),
        "[megatron] normalization is {}, but the final norm has {} bias", norm, biased_norm ? "a" : "no");
  m.norm_epsilon = a.number("norm_epsilon").value_or(a.number("layernorm_epsilon").value_or(1e-5));
  m.qk_layernorm = a.flag("qk_layernorm").value_or(has("decoder.layers.self_attention.q_layernorm.weight"));
  if (m.mla.on())
    m.qk_layernorm = has("decoder.layers.self_attention.kv_layernorm.weight") ||
                     has("decoder.layers.self_attention.linear_kv_up_proj.layer_norm_weight");
  check(!m.qk_layernorm || !biased_norm,
        "[megatron] the model was trained with qk_layernorm and normalization LayerNorm: of the norms of queries and "
        "keys only RMSNorm is built");
  m.apply_layernorm_1p = a.flag("apply_layernorm_1p").value_or(a.flag("layernorm_zero_centered_gamma").value_or(false));
  m.add_bias_linear = has("decoder.layers.self_attention.linear_proj.bias");
  m.add_qkv_bias = has("decoder.layers.self_attention.linear_qkv.bias") && !m.add_bias_linear;
  m.untie_embeddings_and_output_weights =
      a.flag("untie_embeddings_and_output_weights")
          .value_or(has(m.is_t5() ? "lm_head.output_layer.weight" : "output_layer.weight"));
  m.attention_dropout = a.number("attention_dropout").value_or(0);
  m.hidden_dropout = a.number("hidden_dropout").value_or(0);
  m.fp32_residual_connection = a.flag("fp32_residual_connection").value_or(false);
  m.init_method_std = a.number("init_method_std").value_or(0.02);
  m.embedding_init_method_std = a.number("embedding_init_method_std").value_or(0);
  m.init_method_xavier_uniform = a.flag("init_method_xavier_uniform").value_or(false);
  m.mtp.num_layers = a.size("mtp_num_layers").value_or(0);
  m.mtp.loss_scaling_factor = a.number("mtp_loss_scaling_factor").value_or(m.mtp.loss_scaling_factor);
  m.mtp.use_repeated_layer = a.flag("mtp_use_repeated_layer").value_or(false);
  m.mtp.detach_heads = a.flag("mtp_detach_heads").value_or(false);
}

ordered_json to_json(const PickleValue& v) {
  if (v.kind == Kind::boolean) return v.integer != 0;
  if (v.kind == Kind::integer) return v.integer;
  if (v.kind == Kind::real) return v.real;
  return v.text;
}

// Settings of the run that have the same names and kinds here.
void copy_settings(const PickleValue& args, ordered_json& config) {
  struct Setting {
    const char* name;
    Kind kind;
  };
  constexpr Setting kSettings[] = {{"bf16", Kind::boolean},
                                   {"fp16", Kind::boolean},
                                   {"global_batch_size", Kind::integer},
                                   {"micro_batch_size", Kind::integer},
                                   {"train_iters", Kind::integer},
                                   {"train_samples", Kind::integer},
                                   {"seed", Kind::integer},
                                   {"lr", Kind::real},
                                   {"min_lr", Kind::real},
                                   {"weight_decay", Kind::real},
                                   {"adam_beta1", Kind::real},
                                   {"adam_beta2", Kind::real},
                                   {"adam_eps", Kind::real},
                                   {"clip_grad", Kind::real}};
  for (const Setting& s : kSettings) {
    const PickleValue* v = args.find(s.name);
    const bool whole = v != nullptr && s.kind == Kind::real && v->kind == Kind::integer;
    if (v != nullptr && v->kind == Kind::real) (void)Args(args).number(s.name);  // a finite one
    if (v != nullptr && (v->kind == s.kind || whole)) config[s.name] = to_json(*v);
  }
}

// Under our names; both count in samples.
ordered_json schedules_of(const PickleValue& scheduler, const Args& args) {
  const Args s(scheduler);
  const auto number = [&](const char* name) { return s.number(name).value_or(0); };
  ordered_json j = {{"lr", number("max_lr")},
                    {"min_lr", number("min_lr")},
                    {"lr_decay_style", s.text("lr_decay_style")},
                    {"lr_decay_samples", number("lr_decay_steps")},
                    {"lr_warmup_samples", number("lr_warmup_steps")},
                    {"lr_warmup_init", args.number("lr_warmup_init").value_or(0)},
                    {"weight_decay_incr_style", s.text("wd_incr_style")},
                    {"start_weight_decay", number("start_wd")},
                    {"end_weight_decay", number("end_wd")}};
  if (const auto own = args.number("decoupled_lr")) {
    j["decoupled_lr"] = *own;
    j["decoupled_min_lr"] = args.number("decoupled_min_lr").value_or(number("min_lr"));
  }
  if (s.text("lr_decay_style") == "WSD") {
    j["lr_wsd_decay_style"] = args.text("lr_wsd_decay_style").empty() ? "exponential" : args.text("lr_wsd_decay_style");
    j["lr_wsd_decay_samples"] =
        args.number("lr_wsd_decay_samples")
            .value_or(args.number("lr_wsd_decay_iters").value_or(0) * args.number("global_batch_size").value_or(1));
  }
  if (s.text("wd_incr_style") != "constant") j["weight_decay_samples"] = number("wd_incr_steps");
  return j;
}

}  // namespace

ModelConfig model_of_args(const PickleValue& args, const HasTensor& has, i64 rows, i64 vocab_size) {
  check(args.kind == Kind::object, "[megatron] the saved arguments are {}: want a Namespace", args.describe());
  const Args a(args);
  refuse_unbuilt(args);
  ModelConfig m;
  read_bert(has, m);
  read_latent_attention(a, m.mla);
  read_mixture(a, m.moe);
  read_sizes(a, m, rows, vocab_size);
  read_encoder_decoder(a, has, m);
  read_positions(a, has, m);
  read_layers(a, has, m);
  const i64 layers = m.num_layers + m.mtp.num_layers, experts = std::max<i64>(1, m.moe.num_experts);
  check(layers <= kMostExperts / experts,
        "[megatron] the saved arguments give {} layers of {} experts: no such model fits any machine", layers, experts);
  m.resolve();
  check(m.num_query_groups > 0 && m.kv_channels > 0 && m.num_attention_heads % m.num_query_groups == 0 &&
            m.ffn_hidden_size > 0,
        "[megatron] the saved arguments give no complete model: {} heads in {} groups of width {}, ffn_hidden_size {}",
        m.num_attention_heads, m.num_query_groups, m.kv_channels, m.ffn_hidden_size);
  return m;
}

void check_version(const PickleValue& common, const std::string& where, double usual) {
  const PickleValue* v = common.find("checkpoint_version");
  const double version = v == nullptr               ? usual
                         : v->kind == Kind::integer ? double(v->integer)
                         : v->kind == Kind::real    ? v->real
                                                    : 0;
  check(version >= 2 && version < 4,
        "[load] {}: checkpoint_version is {}: only 2 and 3 are read, others order queries, keys and values otherwise",
        where, v == nullptr ? "missing" : v->describe());
}

// Skips tensors, which are read elsewhere, and unset values.
static std::optional<i64> steps_in(const PickleValue* v, const char* name) {
  const PickleValue* step = v == nullptr ? nullptr : v->find(name);
  if (step == nullptr || step->is_none() || step->kind == Kind::object) return std::nullopt;
  return pickle_count(step, fmt::format("[megatron] the optimizer's {}", name));
}

const PickleValue& first_optimizer(const PickleValue& optimizer) {
  if (const auto* chain = optimizer.sequence(); chain != nullptr && !chain->empty()) return *chain->front();
  const bool numbered = optimizer.is_dict() && !optimizer.items.empty() && optimizer.items[0]->kind == Kind::integer;
  return numbered ? *optimizer.items[1] : optimizer;
}

std::optional<i64> optimizer_steps(const PickleValue* optimizer) {
  if (optimizer == nullptr) return std::nullopt;
  optimizer = &first_optimizer(*optimizer);
  const PickleValue* inner = optimizer->find("optimizer");
  if (inner == nullptr) inner = optimizer;
  const PickleValue* state = inner->find("state");
  for (const PickleValue* in : {optimizer, state})
    if (const auto steps = steps_in(in, "common_step")) return steps;
  const PickleValue* groups = inner->find("param_groups");
  if (groups == nullptr || groups->sequence() == nullptr) return std::nullopt;
  for (const PickleValue* group : *groups->sequence())
    if (const auto steps = steps_in(group, "step")) return steps;
  return std::nullopt;
}

Manifest manifest_of_common(const PickleValue& common, const ModelConfig& model, std::optional<i64> steps) {
  Manifest manifest;
  const PickleValue* args = common.find("args");
  check(args != nullptr, "[megatron] the checkpoint holds no arguments");
  const Args a(*args);
  if (const PickleValue* iteration = common.find("iteration"); iteration != nullptr && iteration->kind != Kind::text)
    manifest.iteration = pickle_count(iteration, "[megatron] the checkpoint's iteration");
  manifest.consumed_samples = a.size("consumed_train_samples").value_or(0);
  ordered_json config = ordered_json::parse(model_to_json(model));
  copy_settings(*args, config);
  manifest.config_json = config.dump();
  const PickleValue* scheduler = common.find("opt_param_scheduler");
  const bool scheduled = scheduler != nullptr && scheduler->is_dict();
  const i64 counted = scheduled ? pickle_count(scheduler->find("num_steps"), "[megatron] the schedule's num_steps") : 0;
  ordered_json state = {
      {"schedule_samples", counted},
      {"optimizer_steps", steps.value_or(manifest.iteration)},
      {"skipped_iterations", 0},
      {"interval", {{"losses", ordered_json::object()}, {"advanced", 0}, {"skipped", 0}, {"nan", 0}}}};
  if (scheduled) state["schedules"] = schedules_of(*scheduler, a);
  manifest.state_json = state.dump();
  return manifest;
}

}  // namespace megalith
