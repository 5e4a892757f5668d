// Rules about mixtures of experts.
#include <algorithm>
#include <cmath>

#include "config/field.h"
#include "optim/optimizer.h"
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

bool is_mixture(const Options& o) { return o.model.moe.num_experts > 0; }

std::string enough_experts(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!is_mixture(o) || m.router_topk <= m.num_experts) return {};
  return fmt::format("--moe-router-topk {} is more than --num-experts {}: lower it", m.router_topk, m.num_experts);
}

// A softmax over one logit is 1.
std::string one_expert_learns(const Options& o) {
  const MoeConfig& m = o.model.moe;
  const bool sinkhorn = std::ranges::count(m.router_load_balancing_type, "sinkhorn") > 0;  // its weight is logistic(z)
  if (!is_mixture(o) || sinkhorn || m.router_topk > 1 || m.router_pre_softmax ||
      m.router_score_function != RouterScore::softmax)
    return {};
  return "--moe-router-topk 1 gives each expert the weight 1, so the router has no gradient: add "
         "--moe-router-pre-softmax";
}

std::string layers_are_told(const Options& o) {
  if (!is_mixture(o) || o.model.num_layers == 0) return {};
  try {
    o.model.moe.pattern(o.model.num_layers);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

std::string groups_fit(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!is_mixture(o) || (m.router_num_groups == 0 && m.router_group_topk == 0)) return {};
  const i64 n = m.router_num_groups, g = m.router_group_topk, k = m.router_topk;
  if (n == 0 || g == 0) return "--moe-router-num-groups and --moe-router-group-topk come together: give both";
  if (m.num_experts % n != 0)
    return fmt::format("--num-experts {} is not divisible by --moe-router-num-groups {}: change one", m.num_experts, n);
  const i64 each = m.num_experts / n;
  if (g > n) return fmt::format("--moe-router-group-topk {} is more than --moe-router-num-groups {}: lower it", g, n);
  if (k > g * each)
    return fmt::format(
        "--moe-router-topk {} is more than the {} experts of --moe-router-group-topk {}: raise the latter", k, g * each,
        g);
  if (m.group_best() == 0)
    return fmt::format(
        "--moe-router-topk {} is less than --moe-router-group-topk {}, so no expert makes a group's score: lower the "
        "latter, or give --moe-router-group-best",
        k, g);
  if (m.group_best() > each)
    return fmt::format(
        "a group's score is of {} experts, and --moe-router-num-groups {} leaves {} in a group: lower it",
        m.group_best(), n, each);
  return {};
}

// Of several experts each would get the token times another number.
std::string weighs_the_input(const Options& o) {
  const MoeConfig& m = o.model.moe;
  if (!is_mixture(o) || !m.apply_probs_on_input || m.router_topk == 1) return {};
  return fmt::format(
      "--moe-apply-probs-on-input is for one expert a token: leave it out, or give --moe-router-topk 1 "
      "instead of {}",
      m.router_topk);
}

std::string shared_experts_have_no_bias(const Options& o) {
  if (!is_mixture(o) || !o.model.mlp_bias() || o.model.moe.shared_expert_intermediate_size == 0) return {};
  return "--moe-shared-expert-intermediate-size: shared experts have no biases: add --disable-bias-linear";
}

std::string experts_to_speak_of(const Options& o) {
  if (is_mixture(o)) return {};
  MoeConfig moe;
  config::FieldList fields;
  list_fields(moe, fields);
  std::vector<std::string> names = {"log-expert-load", "moe-per-layer-logging", "save-tokens-per-expert-interval",
                                    "expert-tensor-parallel-size"};
  for (const config::Field& field : fields.all())
    if (field.name != "num-experts") names.push_back(field.name);
  for (const std::string& name : names)
    if (o.given.has(name)) return fmt::format("--{} has no effect without --num-experts", name);
  return {};
}

std::string tokens_have_a_place(const Options& o) {
  if (o.train.save_tokens_per_expert_interval == 0 || !o.train.save.empty()) return {};
  return "--save-tokens-per-expert-interval writes below --save: give --save DIR";
}

std::string experts_to_share(const Options& o) {
  const i64 ep = o.parallel.expert_model_parallel_size;
  if (ep == 1 || is_mixture(o)) return {};
  return fmt::format("--expert-model-parallel-size {} shares out experts and there are none: give --num-experts, or 1",
                     ep);
}

std::string experts_divide(const Options& o) {
  const i64 ep = o.parallel.expert_model_parallel_size, n = o.model.moe.num_experts;
  if (n % ep == 0) return {};
  return fmt::format("--num-experts {} is not divisible by --expert-model-parallel-size {}: change one", n, ep);
}

std::string expert_width_divides(const Options& o) {
  const i64 etp = o.parallel.expert_tensor_size(), f = o.model.expert_width();
  if (!is_mixture(o) || f % etp == 0) return {};
  return fmt::format("the width of an expert, {}, is not divisible by --expert-tensor-parallel-size {}: change one", f,
                     etp);
}

std::string shared_width_divides(const Options& o) {
  const i64 tp = o.parallel.tensor_model_parallel_size, f = o.model.moe.shared_expert_intermediate_size;
  if (!is_mixture(o) || f % tp == 0) return {};
  return fmt::format(
      "--moe-shared-expert-intermediate-size {} is not divisible by --tensor-model-parallel-size {}: change one", f,
      tp);
}

// Without it each token would reach an expert from every rank of tp.
std::string tokens_are_split(const Options& o) {
  const ParallelConfig& p = o.parallel;
  if (!is_mixture(o) || p.tensor_model_parallel_size == 1 || p.sequence_parallel) return {};
  return fmt::format(
      "--num-experts with --tensor-model-parallel-size {} needs each token on one rank: add "
      "--sequence-parallel",
      p.tensor_model_parallel_size);
}

std::string views_fit(const Options& o) {
  const ParallelConfig& p = o.parallel;
  if (!is_mixture(o) || p.world_size % p.model_parallel_size() != 0 || o.model.num_query_groups == 0) return {};
  const i64 stage = p.world_size / p.stages(), share = p.expert_tensor_size() * p.expert_model_parallel_size;
  if (stage % share != 0) {
    const bool whole_experts_fit = p.expert_tensor_size() > 1 && stage % p.expert_model_parallel_size == 0;
    return fmt::format(
        "--expert-model-parallel-size {} x {} ranks for each expert's matrices (--expert-tensor-parallel-size) are {} "
        "ranks, and a pipeline stage has {}: start a multiple of {} ranks for each stage, or {}",
        p.expert_model_parallel_size, p.expert_tensor_size(), share, stage, share,
        whole_experts_fit ? "give --expert-tensor-parallel-size 1" : "lower one");
  }
  try {
    mesh_of(p, o.model);
    return {};
  } catch (const Error& e) {
    return fmt::format("--expert-model-parallel-size {}: {}", p.expert_model_parallel_size, e.what());
  }
}

std::string rows_have_room(const Options& o) {
  constexpr double kLeast = 0.1;  // parts of the tokens are nodes of the plan
  const double factor = o.parallel.moe_expert_rank_capacity_factor.value_or(1);
  if (factor >= kLeast && std::isfinite(factor)) return {};
  return fmt::format("--moe-expert-rank-capacity-factor {} is out of range: give {} or more", factor, kLeast);
}

// Weight gradients that wait need the rows of all parts.
std::string parts_end_in_the_backward(const Options& o) {
  const ParallelConfig& p = o.parallel;
  if (!is_mixture(o) || !p.moe_expert_rank_capacity_factor || p.stages() == 1 ||
      p.pipeline_schedule != PipelineSchedule::zero_bubble)
    return {};
  return "--moe-expert-rank-capacity-factor does not go with --pipeline-schedule zero-bubble, whose weight gradients "
         "keep all rows: leave one out";
}

std::string room_is_of_experts(const Options& o) {
  if (is_mixture(o) || !o.parallel.moe_expert_rank_capacity_factor) return {};
  return "--moe-expert-rank-capacity-factor has no effect without --num-experts";
}

std::string overlap_has_both(const Options& o) {
  const ParallelConfig& p = o.parallel;
  if (!p.moe_shared_expert_overlap) return {};
  if (!is_mixture(o) || o.model.moe.shared_expert_intermediate_size == 0)
    return "--moe-shared-expert-overlap has no effect without --moe-shared-expert-intermediate-size";
  if (p.expert_model_parallel_size * p.expert_tensor_size() > 1) return {};
  return "--moe-shared-expert-overlap has no effect where no ranks share experts";
}

std::string optimizer_takes_experts(const Options& o) {
  if (!is_mixture(o) || o.optimizer.chosen().granularity() != Granularity::matrix) return {};
  return fmt::format("--optimizer {} is not built for experts yet, whose matrices lie in one weight: use adam",
                     o.optimizer.chosen().name());
}

}  // namespace

std::vector<Rule> expert_rules() {
  return {
      {"a token has at most num-experts experts", Topic::model, Action::refuse, enough_experts},
      {"a router with one expert a token has a gradient", Topic::model, Action::refuse, one_expert_learns},
      {"moe-layer-freq has a value for each layer", Topic::model, Action::refuse, layers_are_told},
      {"groups of experts fit", Topic::model, Action::refuse, groups_fit},
      {"weights on the input are of one expert a token", Topic::model, Action::refuse, weighs_the_input},
      {"shared experts have no biases", Topic::model, Action::refuse, shared_experts_have_no_bias},
      {"flags about experts come with some", Topic::run, Action::warn, experts_to_speak_of},
      {"save-tokens-per-expert-interval comes with save", Topic::run, Action::refuse, tokens_have_a_place},
      {"expert parallelism comes with experts", Topic::run, Action::refuse, experts_to_share},
      {"num-experts is a multiple of the expert-parallel size", Topic::run, Action::refuse, experts_divide},
      {"an expert's width is a multiple of the expert-tensor-parallel size", Topic::run, Action::refuse,
       expert_width_divides},
      {"the shared expert's width is a multiple of the tensor-parallel size", Topic::run, Action::refuse,
       shared_width_divides},
      {"experts with tensor parallelism come with sequence-parallel", Topic::run, Action::refuse, tokens_are_split},
      {"the ranks of experts fit those of attention", Topic::run, Action::refuse, views_fit},
      {"experts' rows have room", Topic::run, Action::refuse, rows_have_room},
      {"parts of experts' rows end in the backward", Topic::run, Action::refuse, parts_end_in_the_backward},
      {"room for experts' rows comes with experts", Topic::run, Action::warn, room_is_of_experts},
      {"moe-shared-expert-overlap comes with a shared expert and expert parallelism", Topic::run, Action::warn,
       overlap_has_both},
      {"the optimizer takes experts", Topic::run, Action::refuse, optimizer_takes_experts},
  };
}

}  // namespace megalith
