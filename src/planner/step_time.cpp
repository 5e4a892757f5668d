#include "planner/step_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "exec/sim/facts_clock.h"
#include "exec/sim/measured_backend.h"
#include "exec/sim/paper_backend.h"
#include "exec/sim/simulator.h"
#include "facts/facts_file.h"
#include "planner/cpu_rates.h"
#include "settings/batch_sizes.h"

namespace megalith {

namespace {

// A clock that owns its facts.
class OwnFacts final : public sim::Clock {
 public:
  explicit OwnFacts(DeviceFacts facts) : facts_(std::move(facts)), clock_(facts_) {}
  sim::Took seconds(const Plan& plan, const Program& p, const Instruction& in) const override {
    return clock_.seconds(plan, p, in);
  }
  double send(double bytes, int from, int to) const override { return clock_.send(bytes, from, to); }
  double together() const override { return clock_.together(); }
  BesideFacts beside() const override { return clock_.beside(); }

 private:
  DeviceFacts facts_;
  sim::FactsClock clock_;
};

std::string source_of(const DeviceFacts& f) {
  const bool has_links = !f.transfers.empty() || f.node.gbps > 0;
  return fmt::format("from the facts of {}, {}{}", f.name,
                     f.measured ? "recorded " + f.recorded : "which were not measured",
                     has_links ? "" : "; transfers between ranks count as 0 s, because the file has none");
}

class Foretold {
 public:
  Foretold(const Plan& plan, const sim::Clock& clock) : plan_(plan), clock_(clock) {}

  double run(const std::string& program, bool first, StepTime& out, double times = 1) const {
    const Program* p = plan_.find_program(program);
    if (!p || times <= 0) return 0;
    const sim::Estimate e = sim::simulate(plan_, *p, clock_, first);
    for (const auto& [op, total] : e.by_op) out.by_op[op] += total.seconds * times;
    out.exposed += e.exposed * times;
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
  double end = 0;  // the update, and the extra time of the last micro-batch
  StepTime all;    // of a step: the stage's computation
};
StageCosts costs_of(const PlannedStep& step, const sim::Clock& clock) {
  StageCosts out;
  const Foretold f(step.plan, clock);
  const double n = step.pipeline->spec.schedule.micro_batches;
  for (const StagePiece& piece : step.pipeline->pieces) {
    const auto each = [&](const std::string& program) {
      const std::string last = "last-" + program + piece.suffix;
      const bool has_last = step.plan.find_program(last) != nullptr;
      const double others = n - (has_last ? 1 : 0);
      const double usual = f.run(program + piece.suffix, false, out.all, others);
      const double end = has_last ? f.run(last, false, out.all) : 0;
      const double one = others > 0 ? usual / others : end;  // of a single micro-batch, the last one
      if (has_last) out.end += end - one;
      out.all.seconds += n * one;
      return one;
    };
    const double forward = each("forward"), backward = each("backward");
    out.chunks.push_back({forward, backward, each("weights")});
  }
  out.end += f.run("update", true, out.all);
  out.all.seconds += out.end;
  return out;
}

struct TimedStages {
  sim::PipelineSpec spec;
  double end = 0;    // the longest update
  StepTime slowest;  // the slowest stage's computation
};
TimedStages timed_stages(StagePlans& plans, const sim::Clock& clock) {
  const PlannedStep& step0 = plans.at(0);
  TimedStages out{{.schedule = step0.pipeline->spec.schedule, .costs = {}}, 0, {}};
  std::map<const PlannedStep*, StageCosts> known;  // stages of the same blocks share a plan
  for (int stage = 0; stage < plans.stages(); ++stage) {
    const PlannedStep& step = plans.like(stage);
    const auto [it, is_new] = known.try_emplace(&step);
    if (is_new) it->second = costs_of(step, clock);
    const StageCosts& costs = it->second;
    out.spec.costs.push_back(costs.chunks);
    out.end = std::max(out.end, costs.end);
    if (costs.all.seconds > out.slowest.seconds) out.slowest = costs.all;
  }
  const Mesh& mesh = step0.plan.mesh;
  const Coord next = mesh.at(Coord{}, groups::pipeline, 1);
  const double sent = double(step0.plan.leaf("out" + step0.pipeline->pieces.front().suffix).bytes);
  out.spec.transfer = clock.send(sent, mesh.rank(Coord{}), mesh.rank(next));
  return out;
}

// Simulates the schedule of all stages, so each stage waits for the slowest. The longest update follows.
StepTime of_pipeline(StagePlans& plans, const sim::Clock& clock) {
  TimedStages stages = timed_stages(plans, clock);
  const sim::PipelineRun run = sim::run_pipeline(stages.spec);
  return {run.seconds + stages.end, run.bubble, stages.slowest.exposed, std::move(stages.slowest.by_op)};
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
  if (const auto* measured = dynamic_cast<const sim::MeasuredBackend*>(&backend))
    return {std::make_unique<sim::FactsClock>(measured->facts()), source_of(measured->facts())};
  if (backend.host_bytes()) {
    const std::optional<DeviceFacts> facts = facts_of_device(backend.device_name());
    if (!facts) return {};
    return {std::make_unique<OwnFacts>(*facts), source_of(*facts)};
  }
  return {std::make_unique<sim::RatesClock>(cpu_rates(backend)),
          "from a short measurement of this CPU: a rough figure"};
}

StepTime step_time(StagePlans& plans, const sim::Clock& clock) {
  if (plans.stages() > 1) return of_pipeline(plans, clock);
  return of_one_stage(plans.at(0).plan, clock, micro_batches(plans.options()));
}

sim::PipelineRun pipeline_run(StagePlans& plans, const sim::Clock& clock) {
  return plans.stages() > 1 ? sim::run_pipeline(timed_stages(plans, clock).spec) : sim::PipelineRun();
}

std::string pipeline_drawing(StagePlans& plans, const sim::Clock& clock) {
  return plans.stages() > 1 ? sim::draw(pipeline_run(plans, clock)) : "";
}

std::string time_report(StagePlans& plans) {
  const Options& o = plans.options();
  const Backend& backend = plans.backend();
  const StepClock by = clock_of(backend);
  if (!by.clock) return "";
  const StepTime t = step_time(plans, *by.clock);
  if (!(t.seconds > 0)) return "";
  const double tokens = double(BatchSizes(o).largest()) * double(o.model.seq_length) / t.seconds;
  const i64 ranks = o.parallel.world_size;
  std::string out = fmt::format("predicted: {:.4g} s a step, {:.4g} tokens/s", t.seconds, tokens);
  if (ranks > 1) out += fmt::format(", {:.4g} a rank", tokens / double(ranks));
  if (t.bubble > 0) out += fmt::format(", the pipeline's idle time {:.1f}% of its work", 100 * t.bubble);
  out += fmt::format("; {}\n  where the time goes: {}", by.source, shares(t));
  if (const auto* paper = dynamic_cast<const sim::PaperBackend*>(&backend))
    for (const std::string& line : paper->bounded())
      out += fmt::format("\n  workspaces that the facts lack, estimated by their upper bound: {}", line);
  return out;
}

}  // namespace megalith
