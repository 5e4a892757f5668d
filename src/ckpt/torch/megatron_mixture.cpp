#include "ckpt/torch/megatron_mixture.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace megalith {
namespace {

using Kind = PickleValue::Kind;

constexpr std::array<std::string_view, 3> kScores = {"softmax", "sigmoid", "sqrtsoftplus"};
constexpr std::array<std::string_view, 3> kRouterDtypes = {"", "fp32", "fp64"};
constexpr std::array<std::string_view, 2> kDrops = {"probs", "position"};

// One of the words; the first without the argument.
template <class E, std::size_t N>
E word(const Args& a, const char* name, const std::array<std::string_view, N>& words) {
  const std::string text = a.text(name);
  if (text.empty()) return E(0);
  const auto at = std::ranges::find(words, text);
  check(at != words.end(), "[megatron] the argument {} is {}: known are {}", name, text, fmt::join(words, ", "));
  return E(at - words.begin());
}

// A number of layers, or a list of 0 and 1, as --moe-layer-freq has them.
std::string layer_freq(const Args& a) {
  const PickleValue* v = a.find("moe_layer_freq");
  if (v == nullptr) return "1";
  if (v->kind == Kind::text) return v->text;
  const auto* items = v->sequence();
  if (items == nullptr) return fmt::to_string(pickle_count(v, "[megatron] the argument moe_layer_freq"));
  std::vector<i64> layers;
  for (const PickleValue* i : *items) layers.push_back(pickle_integer(i, "[megatron] the argument moe_layer_freq"));
  return fmt::format("[{}]", fmt::join(layers, ","));
}

// One argument, or a list of them.
std::vector<const PickleValue*> items_of(const Args& a, const char* name) {
  const PickleValue* v = a.find(name);
  if (v == nullptr) return {};
  const auto* items = v->sequence();
  return items == nullptr ? std::vector<const PickleValue*>{v} : *items;
}

void read_balancing(const Args& a, MoeConfig& m) {
  if (const auto kinds = items_of(a, "moe_router_load_balancing_type"); !kinds.empty()) {
    m.router_load_balancing_type.clear();
    for (const PickleValue* v : kinds)
      m.router_load_balancing_type.push_back(pickle_text(v, "[megatron] the argument moe_router_load_balancing_type"));
  }
  if (const auto factors = items_of(a, "moe_aux_loss_coeff"); !factors.empty()) {
    m.aux_loss_coeff.clear();
    for (const PickleValue* v : factors) {
      check(v->kind == Kind::real || v->kind == Kind::integer, "[megatron] the argument moe_aux_loss_coeff is {}",
            v->describe());
      m.aux_loss_coeff.push_back(v->kind == Kind::real ? v->real : double(v->integer));
    }
  }
  m.router_enable_expert_bias = a.flag("moe_router_enable_expert_bias").value_or(false);
  m.router_bias_update_rate = a.number("moe_router_bias_update_rate").value_or(m.router_bias_update_rate);
  m.z_loss_coeff = a.number("moe_z_loss_coeff");
}

void read_router(const Args& a, MoeConfig& m) {
  m.router_topk = a.size("moe_router_topk").value_or(m.router_topk);
  m.router_score_function = word<RouterScore>(a, "moe_router_score_function", kScores);
  m.router_pre_softmax = a.flag("moe_router_pre_softmax").value_or(false);
  m.router_topk_scaling_factor = a.number("moe_router_topk_scaling_factor");
  m.router_dtype = word<RouterDtype>(a, "moe_router_dtype", kRouterDtypes);
  m.router_num_groups = a.size("moe_router_num_groups").value_or(0);
  m.router_group_topk = a.size("moe_router_group_topk").value_or(0);
  m.input_jitter_eps = a.number("moe_input_jitter_eps");
}

void put_optional(PickleWriter& p, const char* name, const std::optional<double>& value) {
  p.text(name);
  value ? p.real(*value) : p.none();
}
void put_size(PickleWriter& p, const char* name, i64 value) {
  p.text(name);
  value > 0 ? p.integer(value) : p.none();
}
// The item itself where it is one.
template <class T, class F>
void put_items(PickleWriter& p, const char* name, const std::vector<T>& items, F&& put) {
  p.text(name);
  if (items.size() == 1) return put(items.front());
  p.list([&] {
    for (const T& i : items) put(i);
  });
}

void put_layer_freq(PickleWriter& p, const ModelConfig& m) {
  const std::string& freq = m.moe.layer_freq;
  p.text("moe_layer_freq");
  if (freq.find_first_not_of("0123456789") == std::string::npos) return p.integer(std::stoll(freq));
  p.list([&] {
    for (const bool mixture : m.moe.pattern(m.num_layers)) p.integer(mixture ? 1 : 0);
  });
}

void put_router(PickleWriter& p, const MoeConfig& m) {
  p.entry("moe_router_topk", m.router_topk);
  p.entry("moe_router_score_function", kScores[std::size_t(m.router_score_function)]);
  p.flag("moe_router_pre_softmax", m.router_pre_softmax);
  put_optional(p, "moe_router_topk_scaling_factor", m.router_topk_scaling_factor);
  p.text("moe_router_dtype");
  m.router_dtype == RouterDtype::model ? p.none() : p.text(kRouterDtypes[std::size_t(m.router_dtype)]);
  put_size(p, "moe_router_num_groups", m.router_num_groups);
  put_size(p, "moe_router_group_topk", m.router_group_topk);
  put_optional(p, "moe_input_jitter_eps", m.input_jitter_eps);
  p.flag("moe_router_enable_expert_bias", m.router_enable_expert_bias);
  p.entry("moe_router_bias_update_rate", m.router_bias_update_rate);
  put_items(p, "moe_router_load_balancing_type", m.router_load_balancing_type,
            [&](const std::string& kind) { p.text(kind); });
  put_items(p, "moe_aux_loss_coeff", m.aux_loss_coeff, [&](double factor) { p.real(factor); });
  put_optional(p, "moe_z_loss_coeff", m.z_loss_coeff);
}

}  // namespace

void read_mixture(const Args& a, MoeConfig& m) {
  if (a.number("num_experts").value_or(0) == 0) return;
  m.num_experts = a.required("num_experts");
  check(m.num_experts <= 1 << 20, "[megatron] the saved arguments give {} experts: no such model fits any machine",
        m.num_experts);
  m.layer_freq = layer_freq(a);
  m.ffn_hidden_size = a.size("moe_ffn_hidden_size").value_or(0);
  m.shared_expert_intermediate_size = a.size("moe_shared_expert_intermediate_size").value_or(0);
  m.shared_expert_gate = a.flag("moe_shared_expert_gate").value_or(false);
  m.latent_size = a.size("moe_latent_size").value_or(0);
  m.apply_probs_on_input = a.flag("moe_apply_probs_on_input").value_or(false);
  m.expert_capacity_factor = a.number("moe_expert_capacity_factor");
  m.pad_expert_input_to_capacity = a.flag("moe_pad_expert_input_to_capacity").value_or(false);
  m.token_drop_policy = word<TokenDrop>(a, "moe_token_drop_policy", kDrops);
  read_router(a, m), read_balancing(a, m);
}

void put_mixture(PickleWriter& p, const ModelConfig& model) {
  const MoeConfig& m = model.moe;
  p.text("num_experts");
  if (m.num_experts == 0) return p.none();
  p.integer(m.num_experts);
  put_layer_freq(p, model);
  p.entry("moe_ffn_hidden_size", model.expert_width());
  put_size(p, "moe_shared_expert_intermediate_size", m.shared_expert_intermediate_size);
  p.flag("moe_shared_expert_gate", m.shared_expert_gate);
  put_size(p, "moe_latent_size", m.latent_size);
  p.flag("moe_apply_probs_on_input", m.apply_probs_on_input);
  put_optional(p, "moe_expert_capacity_factor", m.expert_capacity_factor);
  p.flag("moe_pad_expert_input_to_capacity", m.pad_expert_input_to_capacity);
  p.entry("moe_token_drop_policy", kDrops[std::size_t(m.token_drop_policy)]);
  put_router(p, m);
  p.entry("expert_tensor_parallel_size", i64{1});
}

bool has_experts(const ModelConfig& m) {
  const std::vector<bool> layers = m.moe.pattern(m.num_layers);
  return std::ranges::find(layers, true) != layers.end();
}

}  // namespace megalith
