// Rules about mixtures of experts that start from a dense model.
#include <algorithm>

#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string has_parts(const Options& o) {
  const TrainConfig& t = o.train;
  if (!t.moe_use_upcycling)
    return t.moe_upcycling_granularity == 1 ? ""
                                            : "--moe-upcycling-granularity has no effect without --moe-use-upcycling";
  if (o.model.moe.num_experts == 0) return "--moe-use-upcycling needs experts: give --num-experts";
  if (t.load.empty()) return "--moe-use-upcycling wants --load DIR of a dense model";
  return {};
}

// Pieces of one copy of the MLP are chosen together.
std::string pieces_are_whole(const Options& o) {
  const MoeConfig& m = o.model.moe;
  const i64 g = o.train.moe_upcycling_granularity;
  if (!o.train.moe_use_upcycling || m.num_experts == 0) return {};
  if (g < 1) return fmt::format("--moe-upcycling-granularity {}: want 1 or more", g);
  const auto refuse = [&](const char* flag, i64 value) {
    return fmt::format("{} {} is not divisible by --moe-upcycling-granularity {}: experts of a copy come together",
                       flag, value, g);
  };
  if (m.num_experts % g != 0) return refuse("--num-experts", m.num_experts);
  if (m.router_topk % g != 0) return refuse("--moe-router-topk", m.router_topk);
  if (m.router_num_groups > 0 && m.num_experts / m.router_num_groups % g != 0)
    return refuse("the number of experts in a group,", m.num_experts / m.router_num_groups);
  return {};
}

bool has_dense_layers(const ModelConfig& m) {
  try {
    const std::vector<bool> mixtures = m.moe.pattern(m.num_layers);
    return std::ranges::find(mixtures, false) != mixtures.end();
  } catch (const Error&) {  // another rule reports it
    return false;
  }
}

// Sums of weights that differ from token to token are on average those that the experts are made for.
std::string is_the_dense_model(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!o.train.moe_use_upcycling || m.num_experts == 0) return {};
  if (m.shared_expert_intermediate_size > 0)
    return "--moe-use-upcycling: a dense model has no shared expert: leave out --moe-shared-expert-intermediate-size";
  if (m.latent_size > 0)
    return "--moe-use-upcycling: experts that see less than the stream are no copies: leave out --moe-latent-size";
  if (std::ranges::count(m.router_load_balancing_type, "sinkhorn") > 0)
    return "--moe-use-upcycling: the weights of a token's experts by sinkhorn have no known sum: balance otherwise";
  if (m.router_topk == 1 && m.router_score_function != RouterScore::softmax)
    return "--moe-use-upcycling with one expert a token: its weight is not known but for softmax: raise "
           "--moe-router-topk";
  const i64 g = o.train.moe_upcycling_granularity, dense = o.model.ffn_hidden_size, width = o.model.expert_width();
  if (g >= 1 && has_dense_layers(o.model) && (dense % g != 0 || dense / g != width))
    return fmt::format(
        "--ffn-hidden-size {} of dense layers is not that of the dense model: an expert's width, {}, times "
        "--moe-upcycling-granularity {}",
        dense, width, g);
  return {};
}

}  // namespace

std::vector<Rule> upcycling_rules() {
  return {
      {"upcycling has a dense model and experts", Topic::run, Action::refuse, has_parts},
      {"pieces of a dense MLP are chosen together", Topic::run, Action::refuse, pieces_are_whole},
      {"upcycled experts are the dense MLP", Topic::run, Action::refuse, is_the_dense_model},
  };
}

}  // namespace megalith
