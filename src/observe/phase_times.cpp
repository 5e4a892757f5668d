#include "observe/phase_times.h"

#include <algorithm>

#include "base/clock.h"
#include "graph/relayout_op.h"
#include "optim/norms.h"
#include "step/step.h"

namespace megalith {

namespace {

constexpr const char* kPhaseNames[] = {"forward-backward", "all-grads-sync", "embedding-grads-all-reduce",
                                       "params-all-gather", "optimizer"};
constexpr const char* kPartNames[] = {"forward-compute",
                                      "backward-compute",
                                      "batch-generator",
                                      "forward-recv",
                                      "backward-recv",
                                      "optimizer-clip-main-grad",
                                      "optimizer-unscale-and-check-inf",
                                      "optimizer-inner-step",
                                      "optimizer-copy-main-to-model-params"};

}  // namespace

PhaseTimes::PhaseTimes(const Plan& plan, int level) : plan_(plan), level_(level), phases_(kPhases), parts_(kNone) {
  for (const Program& p : plan.programs) {
    std::vector<Tag>& tags = tags_.emplace_back();
    for (const Instruction& in : p.instructions) tags.push_back(tag_of(p, in));
  }
}

PhaseTimes::Tag PhaseTimes::tag_of(const Program& program, const Instruction& in) {
  if (in.phase == Phase::forward) return {kForwardBackward, kForward};
  if (in.phase != Phase::update) return {kForwardBackward, kBackward};
  const auto* relayout = in.op.get_if<Relayout>();
  const bool moves = relayout || in.op.get_if<Wait>();
  const bool is_scalar = program.buffers[size_t(in.outs.at(0))].type.ndim() == 0;
  if (relayout && !relayout->stages.empty() && !is_scalar) return {kEmbedding, kNone};
  const bool updates = in.origin.module == "optimizer" || in.origin.module == "weights";
  if (moves && !is_scalar) return updates ? Tag{kGather, kNone} : Tag{kGradients, kNone};
  if (!updates) return {kOptimizer, in.op.name() == "step_scalars" ? kUnscale : kClip};
  return {kOptimizer, in.op.name() == "cast" ? kCopy : kInner};
}

void PhaseTimes::step_begins() {
  const double now = steady_seconds();
  if (since_ == 0) since_ = now;
  last_ = now, is_on_ = true;
  ++steps_;
}

void PhaseTimes::run_begins(int program, bool, int) {
  if (is_on_) add(tag_before(plan_.programs[size_t(program)]));
}

PhaseTimes::Tag PhaseTimes::tag_before(const Program& p) const {
  const bool in_pipeline = p.name.find("micro-batch") == std::string::npos;
  const std::string_view kForwards = "forward";
  const bool is_forward = p.name.starts_with(kForwards);
  const bool receives = is_forward && plan_.find_leaf("in" + p.name.substr(kForwards.size())) != nullptr;
  if (p.name == kNorms) return {kOptimizer, kClip};
  if (p.name == "update") return {kForwardBackward, kNone};
  if (in_pipeline && !is_forward) return {kForwardBackward, kBackwardRecv};
  return {kForwardBackward, receives ? kForwardRecv : kBatch};
}

// Level 1 has only the optimizer's phases.
int PhaseTimes::number_of(const Tag& t) const {
  return t.phase * (kNone + 1) + (level_ < 2 && t.part < kClip ? kNone : t.part);
}

TimeTags PhaseTimes::tags() const {
  TimeTags out;
  out.count = kPhases * (kNone + 1);
  const char* last = plan_.find_program(kNorms) ? kNorms : plan_.find_program("update") ? "update" : "last-micro-batch";
  for (size_t k = 0; k < plan_.programs.size(); ++k) {
    const Program& p = plan_.programs[k];
    const bool trains = runs_a_step(plan_, p.name, 2) > 0;
    std::vector<int>& of = out.of.emplace_back();
    for (const Tag& tag : tags_[k]) of.push_back(trains ? number_of(tag) : -1);
    out.before.push_back(trains ? number_of(tag_before(p)) : -1);
    out.ends_step.push_back(p.name == last);
  }
  return out;
}

void PhaseTimes::hear(const TagSeconds& told) {
  if (told_.seconds.empty()) told_.seconds.resize(told.seconds.size());
  for (size_t i = 0; i < told.seconds.size(); ++i) {
    const double seconds = told.seconds[i] - told_.seconds[i];
    const int part = int(i) % (kNone + 1);
    phases_[i / (kNone + 1)] += seconds;
    if (part != kNone) parts_[size_t(part)] += seconds;
  }
  steps_ = told.steps - told_.steps, told_ = told;
}

void PhaseTimes::after(int program, int instruction, const InstructionMemory&) {
  if (is_on_) add(tags_[size_t(program)][size_t(instruction)]);
}

void PhaseTimes::add(const Tag& tag) {
  const double now = steady_seconds();
  phases_[tag.phase] += now - last_;
  if (tag.part != kNone) parts_[tag.part] += now - last_;
  last_ = now;
}

std::vector<NamedValue> PhaseTimes::take() {
  const double now = steady_seconds(), steps = double(std::max<i64>(steps_, 1));
  std::vector<NamedValue> out{{"interval-time", (now - since_) / steps}};
  for (int i = 0; i < kPhases && level_ >= 1; ++i) out.push_back({kPhaseNames[i], phases_[size_t(i)] / steps});
  for (int i = kClip; i < kNone && level_ >= 1; ++i) out.push_back({kPartNames[i], parts_[size_t(i)] / steps});
  for (int i = 0; i < kClip && level_ >= 2; ++i) out.push_back({kPartNames[i], parts_[size_t(i)] / steps});
  std::ranges::fill(phases_, 0.0), std::ranges::fill(parts_, 0.0);
  since_ = now, steps_ = 0;
  return out;
}

}  // namespace megalith
