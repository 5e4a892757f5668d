// The settings of a mixture of experts. Names, meanings and defaults are Megatron's flags.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ops/router_score.h"

namespace megalith {

namespace config {
class FieldList;
}

// The tokens that an expert keeps if it gets too many: those with the largest weights, or the first ones.
enum class TokenDrop : u8 { probs, position };
// Megatron's dtypes of the router. Here the router computes in f32 with each of them.
enum class RouterDtype : u8 { model, fp32, fp64 };

struct MoeConfig {
  i64 num_experts = 0;           // 0: no layer is a mixture
  std::string layer_freq = "1";  // layer i is a mixture if i % n == 0; or a list as ([0]*3+[1]*58)
  i64 ffn_hidden_size = 0;       // width of an expert; 0: that of the model's MLP
  i64 router_topk = 2;           // experts per token
  RouterScore router_score_function = RouterScore::softmax;
  bool router_pre_softmax = false;                     // softmax over all experts, not only over the chosen ones
  std::optional<double> router_topk_scaling_factor{};  // factor of the weights
  RouterDtype router_dtype = RouterDtype::model;
  i64 router_num_groups = 0;  // experts are chosen from the best groups; 0: no groups
  i64 router_group_topk = 0;  // number of groups to choose from
  i64 router_group_best = 0;  // a group's score is the sum of this many best scores; 0: router_topk / router_group_topk
  bool router_enable_expert_bias = false;  // a bias of the scores, for the choice only; it follows the experts' loads
  double router_bias_update_rate = 1e-3;
  std::vector<std::string> router_load_balancing_type = {"aux_loss"};  // each with its coefficient
  std::vector<double> aux_loss_coeff = {0};
  std::optional<double> z_loss_coeff{};
  std::optional<double> input_jitter_eps{};
  bool router_force_load_balancing = false;
  std::optional<double> router_force_biased{};
  std::optional<double> expert_capacity_factor{};
  bool pad_expert_input_to_capacity = false;
  TokenDrop token_drop_policy = TokenDrop::probs;
  bool apply_probs_on_input = false;
  i64 shared_expert_intermediate_size = 0;  // 0: no shared expert
  bool shared_expert_gate = false;
  i64 latent_size = 0;  // width of experts' inputs and outputs; 0: that of the stream

  bool operator==(const MoeConfig&) const = default;
  // For each of `layers` layers whether it is a mixture; {} without experts. Error if layer_freq is neither a number
  // nor a list with one 0 or 1 per layer.
  std::vector<bool> pattern(i64 layers) const;
  i64 group_best() const { return router_group_best ? router_group_best : router_topk / router_group_topk; }
};

void list_fields(MoeConfig& c, config::FieldList& f);

}  // namespace megalith
