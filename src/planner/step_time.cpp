#include "planner/step_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "exec/sim/facts_clock.h"
#include "exec/sim/paper_backend.h"
#include "exec/sim/pipeline.h"
#include "exec/sim/simulator.h"
#include "facts/facts_file.h"
#include "settings/batch_sizes.h"
#include "settings/schedules.h"

namespace megalith {

namespace {

// A clock that keeps its facts.
class OwnFacts final : public sim::Clock {
 public:
  explicit OwnFacts(DeviceFacts facts) : facts_(std::move(facts)), clock_(facts_) {}
  sim::Took seconds(const Plan& plan, const Program& p, const Instruction& in) const override {
    return clock_.seconds(plan, p, in);
  }
  double send(double bytes, int from, int to) const override { return clock_.send(bytes, from, to); }
  double together() const override { return clock_.together(); }
  double overlap_slowdown() const override { return clock_.overlap_slowdown(); }

 private:
  DeviceFacts facts_;
  sim::FactsClock clock_;
};

std::string source_of(const DeviceFacts& f) {
  return f.measured ? fmt::format("by the facts of {}, recorded {}", f.name, f.recorded)
                    : fmt::format("by the facts of {}, which were not measured", f.name);
}

class Foretold {
 public:
  Foretold(const Plan& plan, const sim::Clock& clock) : plan_(plan), clock_(clock) {}

  double run(const std::string& program, bool first, StepTime& out, double times = 1) const {
    const Program* p = plan_.find_program(program);
    if (!p || times <= 0) return 0;
    const sim::Estimate e = sim::simulate(plan_, *p, clock_, first);
    for (const auto& [op, total] : e.by_op) out.by_op[op] += total.seconds * times;
    return e.total.seconds * times;
  }

 private:
  const Plan& plan_;
  const sim::Clock& clock_;
};

StepTime of_one_stage(const Plan& plan, const sim::Clock& clock, i64 micro_batches) {
  StepTime out;
  const Foretold f(plan, clock);
  const bool alone = micro_batches == 1;
  if (!alone) out.seconds += f.run("micro-batch", true, out);
  out.seconds += f.run("micro-batch", false, out, double(micro_batches - 2));
  out.seconds += f.run("last-micro-batch", alone, out);
  return out;
}

struct StageCosts {
  std::vector<sim::TaskCost> chunks;
  double update = 0;
  StepTime time;  // by op, of a micro-batch and the update
};
StageCosts costs_of(const PlannedStep& step, const sim::Clock& clock) {
  StageCosts out;
  const Foretold f(step.plan, clock);
  for (const StagePiece& piece : step.pipeline->pieces)
    out.chunks.push_back({f.run("forward" + piece.suffix, false, out.time),
                          f.run("backward" + piece.suffix, false, out.time),
                          f.run("weights" + piece.suffix, false, out.time)});
  out.update = f.run("update", true, out.time);
  return out;
}

// Stages with as many layers that are neither the first nor the last are alike.
std::string kind_of_stage(const Options& o, int stage) {
  const PipelineSpec p = step_spec(o, stage).pipeline;
  const int stages = p.schedule.stages, chunks = p.schedule.chunks;
  std::string kind = stage == 0 ? "first" : stage == stages - 1 ? "last" : "";
  for (int c = 0; c < chunks; ++c) kind += fmt::format(" {}", p.blocks.at(size_t(c * stages + stage)));
  return kind;
}

StepTime of_pipeline(const Options& o, const PlannedStep& first, const Backend& backend, const sim::Clock& clock) {
  const sim::PipelineSpec even{.schedule = first.pipeline->spec.schedule, .costs = {}};
  sim::PipelineSpec spec = even;
  std::map<std::string, StageCosts> known;
  double update = 0;
  for (int stage = 0; stage < spec.schedule.stages; ++stage) {
    const auto [it, is_new] = known.try_emplace(kind_of_stage(o, stage));
    if (is_new) it->second = costs_of(stage == 0 ? first : plan_step(step_spec(o, stage), backend), clock);
    spec.costs.push_back(it->second.chunks);
    update = std::max(update, it->second.update);
  }
  const StagePiece& piece = first.pipeline->pieces.front();
  const Mesh& mesh = first.plan.mesh;
  Coord next{};
  next[size_t(Axis::pp)] = 1;
  spec.transfer = clock.send(double(first.plan.leaf("out" + piece.suffix).bytes), mesh.rank(Coord{}), mesh.rank(next));
  const sim::PipelineRun run = sim::run_pipeline(spec);
  StepTime out = known.at(kind_of_stage(o, 0)).time;
  out.seconds = run.seconds + update, out.bubble = run.bubble;
  return out;
}

std::string shares(const StepTime& t) {
  std::vector<std::pair<std::string, double>> rows(t.by_op.begin(), t.by_op.end());
  std::erase_if(rows, [](const auto& r) { return r.first.find(", lane") != std::string::npos; });
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  double all = 0;
  for (const auto& [op, seconds] : rows) all += seconds;
  std::vector<std::string> said;
  for (const auto& [op, seconds] : rows)
    if (said.size() < 6 && seconds > 0.01 * all) said.push_back(fmt::format("{} {:.1f}%", op, 100 * seconds / all));
  return fmt::format("{}", fmt::join(said, ", "));
}

}  // namespace

StepClock clock_of(const Backend& backend) {
  if (const auto* paper = dynamic_cast<const sim::PaperBackend*>(&backend))
    return {std::make_unique<sim::FactsClock>(paper->facts()), source_of(paper->facts())};
  if (backend.host_bytes()) {
    const std::optional<DeviceFacts> facts = facts_of_device(backend.device_name());
    if (!facts) return {};
    return {std::make_unique<OwnFacts>(*facts), source_of(*facts)};
  }
  return {std::make_unique<sim::RatesClock>(sim::this_cpu()),
          "by this CPU's rates, measured for a moment: a rough figure"};
}

StepTime step_time(const Options& o, const PlannedStep& step, const Backend& backend, const sim::Clock& clock) {
  if (step.pipeline) return of_pipeline(o, step, backend, clock);
  return of_one_stage(step.plan, clock, micro_batches(o));
}

std::string time_report(const Options& o, const PlannedStep& step, const Backend& backend) {
  const StepClock by = clock_of(backend);
  if (!by.clock) return "";
  const StepTime t = step_time(o, step, backend, *by.clock);
  if (!(t.seconds > 0)) return "";
  const double tokens = double(BatchSizes(o).largest()) * double(o.model.seq_length) / t.seconds;
  const i64 ranks = o.parallel.world_size;
  std::string out = fmt::format("predicted: {:.4g} s a step, {:.4g} tokens/s", t.seconds, tokens);
  if (ranks > 1) out += fmt::format(", {:.4g} a rank", tokens / double(ranks));
  if (t.bubble > 0) out += fmt::format(", the pipeline's idle time {:.1f}% of its work", 100 * t.bubble);
  out += fmt::format("; {}\n  where the time goes: {}", by.source, shares(t));
  if (const auto* paper = dynamic_cast<const sim::PaperBackend*>(&backend))
    for (const std::string& line : paper->bounded())
      out += fmt::format("\n  workspace bounded, as the facts do not have it: {}", line);
  return out;
}

}  // namespace megalith
