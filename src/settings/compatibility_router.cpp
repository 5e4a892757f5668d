// Rules about the router of a mixture of experts: its losses, its bias, and experts' capacity.
#include <algorithm>
#include <cmath>

#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

bool has_router(const Options& o) { return o.model.moe.num_experts > 0; }

bool is_sinkhorn(const MoeConfig& m) { return std::ranges::count(m.router_load_balancing_type, "sinkhorn") > 0; }

std::string losses_are_known(const Options& o) {
  const MoeConfig& m = o.model.moe;
  const std::vector<std::string> known = {"aux_loss", "seq_aux_loss", "global_aux_loss", "sinkhorn", "none"};
  const auto& kinds = m.router_load_balancing_type;
  for (const std::string& kind : kinds) {
    if (std::ranges::count(known, kind) == 0)
      return fmt::format("--moe-router-load-balancing-type {}: want {}", kind, fmt::join(known, ", "));
    if (std::ranges::count(kinds, kind) > 1)
      return fmt::format("--moe-router-load-balancing-type has {} twice: leave one out", kind);
  }
  if (kinds.size() != m.aux_loss_coeff.size())
    return fmt::format(
        "--moe-router-load-balancing-type has {} losses and --moe-aux-loss-coeff {} coefficients: give "
        "one for each",
        kinds.size(), m.aux_loss_coeff.size());
  return {};
}

std::string router_numbers(const Options& o) {
  const MoeConfig& m = o.model.moe;
  std::string lines;
  const auto want = [&](const char* flag, double x, double below) {
    if (x >= 0 && x < below) return;
    lines += fmt::format("{}{} {} is out of range: give 0 or more{}", lines.empty() ? "" : "\n", flag, x,
                         below <= 1 ? ", below 1" : "");
  };
  constexpr double kMost = 1e30;
  for (double x : m.aux_loss_coeff) want("--moe-aux-loss-coeff", x, kMost);
  want("--moe-z-loss-coeff", m.z_loss_coeff.value_or(0), kMost);
  want("--moe-input-jitter-eps", m.input_jitter_eps.value_or(0), 1);
  want("--moe-router-bias-update-rate", m.router_bias_update_rate, kMost);
  const double scaling = m.router_topk_scaling_factor.value_or(1), capacity = m.expert_capacity_factor.value_or(1);
  if (!(scaling > 0 && scaling < kMost))
    lines +=
        fmt::format("{}--moe-router-topk-scaling-factor {}: want a number above 0", lines.empty() ? "" : "\n", scaling);
  constexpr double kRoom = 1e6;  // for all tokens
  if (capacity == 0 || capacity > kRoom)
    lines +=
        fmt::format("{}--moe-expert-capacity-factor {}: want a number above 0, up to {}, or below 0 for no capacity",
                    lines.empty() ? "" : "\n", capacity, kRoom);
  return lines;
}

// Scores that are no shares of one sum.
std::string bias_has_scores(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!has_router(o) || !m.router_enable_expert_bias || m.router_score_function != RouterScore::softmax) return {};
  return "--moe-router-enable-expert-bias is for independent scores of experts: add --moe-router-score-function "
         "sigmoid";
}

std::string sinkhorn_goes_alone(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!has_router(o) || !is_sinkhorn(m)) return {};
  const auto nonzero = [](double x) { return x != 0; };
  const char* other = nullptr;
  if (m.router_load_balancing_type.size() > 1) other = "another --moe-router-load-balancing-type";
  if (std::ranges::any_of(m.aux_loss_coeff, nonzero)) other = "--moe-aux-loss-coeff";
  if (m.router_enable_expert_bias) other = "--moe-router-enable-expert-bias";
  if (m.router_group_topk > 0) other = "--moe-router-group-topk";
  if (m.expert_capacity_factor.value_or(-1) >= 0) other = "--moe-expert-capacity-factor";
  if (!other) return {};
  return fmt::format("--moe-router-load-balancing-type sinkhorn does not go with {}: leave one out", other);
}

// Padding has weight 0, so it has no effect here.
std::string padding_has_capacity(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!m.pad_expert_input_to_capacity || m.expert_capacity_factor) return {};
  return "--moe-pad-expert-input-to-capacity comes with a capacity: add --moe-expert-capacity-factor";
}

// "none" disables it.
std::string something_balances(const Options& o) {
  const MoeConfig& m = o.model.moe;
  const auto nonzero = [](double x) { return x != 0; };
  if (!has_router(o) || m.router_enable_expert_bias || is_sinkhorn(m)) return {};
  const bool none = std::ranges::count(m.router_load_balancing_type, "none") > 0;
  if (none && m.aux_loss_coeff.size() == 1 && nonzero(m.aux_loss_coeff[0]))
    return fmt::format("--moe-aux-loss-coeff {} has no effect with --moe-router-load-balancing-type none",
                       m.aux_loss_coeff[0]);
  if (none || std::ranges::any_of(m.aux_loss_coeff, nonzero)) return {};
  return "no flag balances the experts: give --moe-aux-loss-coeff, --moe-router-enable-expert-bias, or "
         "--moe-router-load-balancing-type none";
}

// Another rule reports invalid lists.
std::string some_layer_has_them(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!has_router(o) || m.layer_freq.find('1') != std::string::npos || m.layer_freq.find('[') == std::string::npos)
    return {};
  return fmt::format("--num-experts {} has no effect: by --moe-layer-freq {} no layer is a mixture", m.num_experts,
                     m.layer_freq);
}

std::string parts_are_on(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!has_router(o)) return {};
  struct Part {
    const char *field, *needs;
    bool on;
  };
  for (const Part& p :
       {Part{"moe-token-drop-policy", "moe-expert-capacity-factor", m.expert_capacity_factor.has_value()},
        {"moe-router-bias-update-rate", "moe-router-enable-expert-bias", m.router_enable_expert_bias},
        {"moe-router-group-best", "moe-router-group-topk", m.router_group_topk > 0},
        {"moe-shared-expert-gate", "moe-shared-expert-intermediate-size", m.shared_expert_intermediate_size > 0}})
    if (o.given.has(p.field) && !p.on) return fmt::format("--{} has no effect without --{}", p.field, p.needs);
  return {};
}

std::string global_loss_weighs_dp(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!has_router(o) || std::ranges::count(m.router_load_balancing_type, "global_aux_loss") == 0) return {};
  const i64 ranks = o.parallel.world_size / std::max<i64>(1, o.parallel.model_parallel_size());
  if (ranks <= 1) return {};
  return fmt::format(
      "global_aux_loss has its coefficient whatever the number of data-parallel ranks. In Megatron it is divided by "
      "them, here by {}: divide --moe-aux-loss-coeff for its weight",
      ranks);
}

}  // namespace

std::vector<Rule> router_rules() {
  return {
      {"the router's losses are known, each with a coefficient", Topic::model, Action::refuse, losses_are_known},
      {"the router's numbers are in range", Topic::model, Action::refuse, router_numbers},
      {"a bias in the choice of experts comes with sigmoid scores", Topic::model, Action::refuse, bias_has_scores},
      {"sinkhorn comes without other balancing", Topic::model, Action::refuse, sinkhorn_goes_alone},
      {"padding to a capacity comes with one", Topic::model, Action::refuse, padding_has_capacity},
      {"the experts are balanced", Topic::model, Action::warn, something_balances},
      {"at least one layer is a mixture", Topic::model, Action::warn, some_layer_has_them},
      {"flags about a part of a mixture come with it", Topic::model, Action::warn, parts_are_on},
      {"a global loss weighs the same on all meshes", Topic::run, Action::warn, global_loss_weighs_dp},
  };
}

}  // namespace megalith
