#include "planner/stage_plans.h"

#include <algorithm>

#include "settings/schedules.h"

namespace megalith {

StagePlans::StagePlans(const Options& options, const Backend& backend, const PlannedStep* own, int own_stage,
                       bool verifies)
    : options_(options), backend_(backend) {
  const int stages = int(options.parallel.stages());
  mixtures_ = options.model.moe.pattern(options.model.num_layers);
  for (int stage = 0; stage < stages; ++stage) {
    specs_.push_back(step_spec(options, stage));
    if (!verifies) specs_.back().passes_off.insert("verify");
    kinds_.push_back(kind_of(stage));
  }
  if (own) plans_[kinds_.at(size_t(own_stage))] = own;
}

std::string StagePlans::mixtures_in(const ModelPiece& piece) const {
  std::string out;
  for (int block = piece.first; block < piece.last && !mixtures_.empty(); ++block) {
    const bool is_layer = block >= 1 && block <= int(mixtures_.size());
    out += is_layer && mixtures_[size_t(block - 1)] ? 'm' : '-';
  }
  return out;
}

StagePlans::Kind StagePlans::kind_of(int stage) const {
  const StepSpec& spec = specs_[size_t(stage)];
  if (spec.pipeline.schedule.stages == 1) return {};
  Kind kind;
  for (const StagePiece& p : stage_of(spec.pipeline).pieces) {
    if (options_.model.is_t5()) kind.pieces += spec.model->describe(p) + " ";  // encoder and decoder layers differ
    kind.pieces +=
        fmt::format("{}{}{}{} ", p.receives ? "" : "first ", p.last - p.first, mixtures_in(p), p.sends ? "" : " last");
    kind.slots.push_back(p.slots);
  }
  return kind;
}

const PlannedStep& StagePlans::at(int stage) {
  const auto [it, is_new] = plans_.try_emplace(kinds_.at(size_t(stage)));
  if (is_new) it->second = &made_.emplace_back(plan_step(specs_[size_t(stage)], backend_));
  return *it->second;
}

const PlannedStep& StagePlans::like(int stage) {
  for (const auto& [kind, plan] : plans_)
    if (kind.pieces == kinds_.at(size_t(stage)).pieces) return *plan;
  return at(stage);
}

std::string StagePlans::describe(int stage) const {
  const StepSpec& spec = specs_.at(size_t(stage));
  if (spec.pipeline.schedule.stages == 1) return spec.model->describe(spec.model->whole());
  std::string out;
  for (const StagePiece& p : stage_of(spec.pipeline).pieces) out += (out.empty() ? "" : ", ") + spec.model->describe(p);
  return out;
}

int StagePlans::in_flight(int stage) const {
  const std::vector<int>& slots = kinds_.at(size_t(stage)).slots;
  return slots.empty() ? 1 : *std::ranges::max_element(slots);
}

std::vector<int> StagePlans::fullest_candidates() const {
  const auto keeps_less = [&](const Kind& a, const Kind& b) {
    return a.pieces == b.pieces && a.slots != b.slots && std::ranges::equal(a.slots, b.slots, std::less_equal<>());
  };
  std::vector<int> out;
  for (int stage = 0; stage < stages(); ++stage) {
    const Kind& kind = kinds_[size_t(stage)];
    const bool less = std::ranges::any_of(kinds_, [&](const Kind& other) { return keeps_less(kind, other); });
    const bool again = std::ranges::find(kinds_, kind) - kinds_.begin() < stage;
    if (!less && !again) out.push_back(stage);
  }
  return out;
}

FullestStage fullest_stage(StagePlans& plans, bool resumes) {
  FullestStage most{-1};
  for (const int stage : plans.fullest_candidates()) {
    const MemoryNeed need = memory_need(plans.options(), plans.at(stage), plans.backend(), resumes);
    if (most.stage < 0 || need.total() > most.need.total()) most = {stage, need};
  }
  return most;
}

}  // namespace megalith
