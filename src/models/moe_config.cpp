#include "models/moe_config.h"

#include <fmt/format.h>

#include <charconv>

#include "base/check.h"
#include "config/field.h"

namespace megalith {
namespace {

// A list of 0 and 1 in Megatron's form: "[0]*3+[1]*58", with brackets, commas, +, and * with a list and a number.
class LayerList {
 public:
  explicit LayerList(const std::string& text) : text_(text) {
    for (const char c : text)
      if (c != ' ') rest_ += c;
  }

  std::vector<bool> read() {
    std::vector<bool> out = sum();
    if (at_ != rest_.size()) refuse();
    return out;
  }

 private:
  static constexpr size_t kMost = size_t(1) << 20, kDeepest = 64;  // maximum layers; maximum nesting of brackets

  [[noreturn]] void refuse() const {
    fail("--moe-layer-freq '{}': want a number, or a list of 0 and 1 as ([0]*3+[1]*58)", text_);
  }
  bool take(char c) { return at_ < rest_.size() && rest_[at_] == c ? ++at_, true : false; }

  i64 number() {
    i64 n = 0;
    const auto [end, code] = std::from_chars(rest_.data() + at_, rest_.data() + rest_.size(), n);
    if (code != std::errc() || n < 0) refuse();
    at_ = size_t(end - rest_.data());
    return n;
  }

  std::vector<bool> sum() {
    std::vector<bool> out = product();
    while (take('+')) {
      const std::vector<bool> more = product();
      out.insert(out.end(), more.begin(), more.end());
      if (out.size() > kMost) refuse();
    }
    return out;
  }

  std::vector<bool> product() {
    std::vector<bool> out = part();
    while (take('*')) {
      const i64 times = number();
      if (times * i64(out.size()) > i64(kMost) || times > i64(kMost)) refuse();
      std::vector<bool> all;
      for (i64 i = 0; i < times; ++i) all.insert(all.end(), out.begin(), out.end());
      out = std::move(all);
    }
    return out;
  }

  std::vector<bool> part() {
    std::vector<bool> out;
    if (take('(')) {
      if (++depth_ > kDeepest) refuse();
      out = sum();
      if (!take(')')) refuse();
      return out;
    }
    if (!take('[')) refuse();
    if (take(']')) return out;
    do {
      const i64 n = number();
      if (n > 1) refuse();
      out.push_back(n == 1);
    } while (take(','));
    if (!take(']')) refuse();
    return out;
  }

  const std::string& text_;
  std::string rest_;
  size_t at_ = 0, depth_ = 0;
};

void list_experts(MoeConfig& c, config::FieldList& f) {
  f.group("Mixture of experts");
  f.add("num-experts", c.num_experts, "Experts of a layer; 0: no layer is a mixture.").spellings.front().convert =
      [](std::string_view text) { return std::string(text == "None" ? "0" : text); };
  f.add("moe-layer-freq", c.layer_freq,
        "N: every N-th layer is a mixture, from the first on; or a list for all layers, as ([0]*3+[1]*58).");
  f.add("moe-ffn-hidden-size", c.ffn_hidden_size, "Width inside an expert; 0: --ffn-hidden-size.");
  f.add("moe-shared-expert-intermediate-size", c.shared_expert_intermediate_size,
        "Total width of the shared experts, which all tokens pass; 0: none.");
  f.add("moe-shared-expert-gate", c.shared_expert_gate,
        "The shared expert's output is multiplied by logistic(x g), with a weight g for each element of x.");
  f.add("moe-latent-size", c.latent_size, "Width of the routed experts' inputs and outputs; 0: --hidden-size.");
  f.add("moe-apply-probs-on-input", c.apply_probs_on_input,
        "With one expert a token: its weight multiplies the expert's input.");
  f.add("moe-expert-capacity-factor", c.expert_capacity_factor,
        "An expert takes this times its even share of a rank's tokens, and drops the others.");
  f.add("moe-pad-expert-input-to-capacity", c.pad_expert_input_to_capacity,
        "With --moe-expert-capacity-factor: each expert gets exactly as many rows.");
  f.add("moe-token-drop-policy", c.token_drop_policy, {"probs", "position"},
        "Which tokens a capacity keeps: those with the largest weights, or the first.");
}

void list_router(MoeConfig& c, config::FieldList& f) {
  f.add("moe-router-topk", c.router_topk, "Experts of each token.");
  f.add("moe-router-score-function", c.router_score_function, {"softmax", "sigmoid", "sqrtsoftplus"},
        "Scores of the experts from the router's logits.");
  f.add("moe-router-pre-softmax", c.router_pre_softmax, "Softmax over all experts, not over the chosen ones.");
  f.add("moe-router-topk-scaling-factor", c.router_topk_scaling_factor, "The weights of experts times this.");
  f.add("moe-router-dtype", c.router_dtype, {"None", "fp32", "fp64"},
        "Megatron's precision of the router. The router here is in f32 at the least with each of them.");
  f.add("moe-router-num-groups", c.router_num_groups,
        "Number of groups of experts; experts are chosen from the best groups. 0: no groups.");
  f.add("moe-router-group-topk", c.router_group_topk, "Groups that a token's experts are chosen from.");
  f.add("moe-router-group-best", c.router_group_best,
        "A group's score is the sum of its N best experts' scores; 0: --moe-router-topk over "
        "--moe-router-group-topk. Not in Megatron.");
  f.add("moe-router-enable-expert-bias", c.router_enable_expert_bias,
        "A bias is added to the scores for the choice of experts. It balances the experts without a loss.");
  f.add("moe-router-bias-update-rate", c.router_bias_update_rate, "The change of these biases in a step.");
  f.add("moe-router-load-balancing-type", c.router_load_balancing_type,
        "How experts are balanced: aux_loss, seq_aux_loss, global_aux_loss, sinkhorn or none. A list needs "
        "equally many coefficients.");
  f.add("moe-aux-loss-coeff", c.aux_loss_coeff, "Coefficients of the losses that balance experts.");
  f.add("moe-z-loss-coeff", c.z_loss_coeff, "Coefficient of the mean of logsumexp(logits)^2.");
  f.add("moe-input-jitter-eps", c.input_jitter_eps,
        "The router's input is multiplied by random numbers from 1 - eps to 1 + eps.");
  f.add("moe-router-force-load-balancing", c.router_force_load_balancing,
        "Random logits, to measure speed with balanced experts.");
  f.add("moe-router-force-biased", c.router_force_biased,
        "Each expert's logits get a random bias of this deviation, to measure speed.");
}

}  // namespace

std::vector<bool> MoeConfig::pattern(i64 layers) const {
  if (num_experts == 0) return {};
  i64 every = 0;
  const char* const end = layer_freq.data() + layer_freq.size();
  const auto [stop, code] = std::from_chars(layer_freq.data(), end, every);
  if (code == std::errc() && stop == end) {
    check(every > 0, "--moe-layer-freq {}: want 1 or more", every);
    std::vector<bool> out(size_t(layers), false);
    for (i64 i = 0; i < layers; i += every) out[size_t(i)] = true;
    return out;
  }
  std::vector<bool> out = LayerList(layer_freq).read();
  check(i64(out.size()) == layers, "--moe-layer-freq {} is of {} layers, and --num-layers is {}: make them equal",
        layer_freq, out.size(), layers);
  return out;
}

void list_fields(MoeConfig& c, config::FieldList& f) {
  list_experts(c, f);
  list_router(c, f);
}

}  // namespace megalith
