#include "train/say_plan.h"

#include <fmt/ranges.h>

#include "base/log.h"
#include "observe/run_head.h"
#include "planner/plan_report.h"
#include "planner/step_time.h"
#include "settings/schedules.h"

namespace megalith {

namespace {

// The rank that needs the most memory.
struct FullestRank {
  i64 bytes = 0;
  int stage = 0;
  std::string report;  // of its plan; empty: not printed
};

// "168 products of 56 linear layers read codes in each micro-batch". Empty if no product does.
std::string codes_text(const PlannedStep& step) {
  const QuantizeReport& q = step.quantized;
  if (q.layers == 0) return {};
  std::string out = fmt::format("{} products of {} linear layers{} read codes in each micro-batch", q.products,
                                q.layers, step.pipeline ? " of this stage" : "");
  if (!q.others.empty()) out += fmt::format("; not quantized: {}", fmt::join(q.others, ", "));
  return out;
}

FullestRank in_dry_run(StagePlans& plans, const MemoryNeed& need, bool resumes) {
  const Options& o = plans.options();
  const FullestStage full = plans.stages() == 1 ? FullestStage{0, need} : fullest_stage(plans, resumes);
  return {full.need.total(), full.stage, plan_report(o, plans.at(full.stage), full.need)};
}

// The fullest of the running ranks. Only rank 0 knows it.
FullestRank of_ranks(const Options& o, const PlannedStep& step, const MemoryNeed& need, Ranks& ranks) {
  const std::string report = o.train.log_level == LogLevel::debug ? plan_report(o, step, need) : "";
  const int stage = step.pipeline ? step.pipeline->spec.stage : 0;
  FullestRank full;
  for (const std::string& told : ranks.gather(fmt::format("{} {} {}", need.total(), stage, report))) {
    const size_t first = told.find(' '), second = told.find(' ', first + 1);
    const i64 bytes = std::stoll(told.substr(0, first));
    if (bytes > full.bytes) full = {bytes, std::stoi(told.substr(first + 1)), told.substr(second + 1)};
  }
  return full;
}

void say_head(const Options& o, const PlannedStep& step, const FullestRank& full, const RunStart& start,
              const Backend& backend, const Place& place) {
  const RunState& state = start.progress().state;
  RunFacts facts{.device = backend.device_name(),
                 .bf16_products = backend.bf16_products(),
                 .needed_bytes = full.bytes,
                 .available_bytes = backend.available_bytes() / (backend.host_bytes() ? 1 : place.local_size),
                 .iteration = state.iteration,
                 .consumed_samples = state.consumed_samples,
                 .train_iters = train_iters(o, state),
                 .from = start.place()};
  if (o.parallel.stages() > 1) facts.fullest_stage = full.stage;
  if (!o.train.dry_run) facts.arguments = write_arguments(o, state.iteration);
  facts.codes = codes_text(step);
  if (o.train.log_level <= LogLevel::info) log::say("{}", run_head(o, facts));
}

}  // namespace

void say_plan(const Options& o, const PlannedStep& step, const MemoryNeed& need, const RunStart& start,
              const Backend& backend, Ranks& ranks) {
  if (!o.train.dry_run) {
    const FullestRank full = of_ranks(o, step, need, ranks);
    if (!full.report.empty()) log::say("{}", full.report);
    if (ranks.rank() == 0) say_head(o, step, full, start, backend, ranks.place());
    return;
  }
  if (ranks.rank() != 0) return;
  StagePlans plans(o, backend, &step);
  const FullestRank full = in_dry_run(plans, need, start.resumes());
  log::say("{}", full.report);
  if (const std::string stages = stages_report(plans); !stages.empty()) log::say("{}", stages);
  say_head(o, step, full, start, backend, ranks.place());
  if (const std::string seconds = time_report(plans); !seconds.empty()) log::say("{}", seconds);
}

}  // namespace megalith
