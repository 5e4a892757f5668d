#include "planner/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/mib.h"
#include "facts/facts_file.h"
#include "planner/communication.h"
#include "planner/expert_report.h"
#include "planner/offload_report.h"
#include "settings/batch_sizes.h"
#include "settings/schedules.h"
#include "step/model_size.h"

namespace megalith {

static std::string row(std::string_view what, i64 bytes) {
  return fmt::format("  {:<28} {:>16} bytes  {:>10.1f} MiB\n", what, bytes, mib(bytes));
}

// Flops of one run of a program: all, and those of recomputation.
struct Flops {
  double all = 0, again = 0;
};
static Flops flops_of(const Plan& plan, const Program& p) {
  Flops f;
  for (const Instruction& in : p.instructions) {
    const double flops = cost_of(plan, p, in).flops;
    f.all += flops, f.again += in.origin.recomputed ? flops : 0;
  }
  return f;
}

static std::string recompute_line(const Options& o, const PlannedStep& step) {
  const Program& program = step.plan.program("micro-batch");
  const Flops each = flops_of(step.plan, program), last = flops_of(step.plan, step.plan.program("last-micro-batch"));
  const double before = double(micro_batches(o) - 1);
  const double again = before * each.again + last.again, rest = before * each.all + last.all - again;
  const i64 left = step.unoffloaded_bytes ? step.unoffloaded_bytes : program.activation_bytes;
  return fmt::format("  recompute: saves {:.1f} MiB of activations for {:.4g} extra GFLOP a step, {:.1f}%\n",
                     mib(step.unrecomputed_bytes - left), again / 1e9, 100 * again / rest);
}

// Activations that the backward rematerializes, so the forward does not keep them.
static std::string rematerialized_line(const Plan& plan) {
  i64 bytes = 0;
  const auto training = std::find_if(plan.programs.begin(), plan.programs.end(),
                                     [](const Program& p) { return p.name == "micro-batch"; });
  if (training == plan.programs.end()) return {};
  const Program& p = *training;
  std::set<int> repeated;    // buffers that the backward writes: the forward does not keep them in any case
  std::map<int, int> given;  // by the forward: the first result of an op, by its first input
  const auto backward =
      std::ranges::find(p.instructions, Phase::backward, &Instruction::phase) - p.instructions.begin();
  for (const Instruction& in : p.instructions) {
    if (in.phase == Phase::forward && !in.ins.empty()) given.emplace(in.ins[0], in.outs[0]);
    const int y = rematerialized_output(in.op);
    const auto result = y < 0 ? given.end() : given.find(in.ins[1]);
    const bool kept = result != given.end() && p.buffers[size_t(result->second)].last >= backward;  // for others
    if (y >= 0 && !kept && !repeated.count(in.ins[1])) bytes += p.buffers[in.outs[size_t(y)]].bytes;
    if (in.phase == Phase::backward && !in.origin.recomputed) repeated.insert(in.outs.begin(), in.outs.end());
  }
  if (bytes == 0) return {};
  return fmt::format("  rematerialized in gradients: {:.1f} MiB of activations that are not kept\n", mib(bytes));
}

static std::string quantize_lines(const Options& o, const PlannedStep& step) {
  if (!o.quantize.on()) return {};
  const QuantizeReport& q = step.quantized;
  std::string out = fmt::format("  {}: {} products of {} linear layers read codes\n", name_of_recipe(o.quantize),
                                q.products, q.layers);
  if (!q.others.empty()) out += fmt::format("  not quantized: {}\n", fmt::join(q.others, ", "));
  if (step.casts_again) out += "  weights are cast in each micro-batch: memory does not suffice for their codes\n";
  if (const i64 bytes = step.plan.bytes(Role::once))
    out += fmt::format("  weights are cast once a step: {:.1f} MiB of codes and scales are kept\n", mib(bytes));
  return out;
}

// The stage and the device of the rows below.
static std::string what_it_is_of(const Options& o, const PlannedStep& step, const MemoryNeed& need) {
  std::string out;
  if (step.pipeline)
    out += fmt::format("  pipeline stage {} (of 0 to {}), which needs the most memory\n", step.pipeline->spec.stage,
                       step.pipeline->spec.schedule.stages - 1);
  if (o.train.dry_run && !need.host)
    out += fmt::format("  this plan is for the CPU: GPU kernels have other workspaces; --device {} plans for a GPU\n",
                       fmt::join(names_of_facts(), " or "));
  return out;
}

static std::string parameter_rows(const ModelSize& all, const PlannedStep& step) {
  i64 here = 0;
  for (const Parameter& p : step.parameters) here += count(p.true_shape());
  std::string out = fmt::format("  {:<28} {:>16}   (+ {} of vocabulary padding)\n", "parameters", i64(all.parameters()),
                                i64(all.padding));
  if (step.pipeline) out += fmt::format("  {:<28} {:>16}\n", "parameters of the stage", here);
  return out;
}

std::string plan_report(const Options& o, const PlannedStep& step, const MemoryNeed& need) {
  const ModelSize size = size_of(*step_spec(o).model);
  std::string out = "------------------------ plan ------------------------\n";
  out += what_it_is_of(o, step, need) + parameter_rows(size, step);
  for (const Program& p : step.plan.programs)
    out += fmt::format("  {:<28} {:>16} instructions\n", "program " + p.name, p.instructions.size());
  out += fmt::format("  model flops per iteration    {:>16.4g}\n", size.flops() * double(BatchSizes(o).largest()));
  out += expert_lines(o) + memory_table(step.plan);
  out += offload_line(step.plan) + activation_offload_lines(o.offload, step);
  out += rematerialized_line(step.plan) + quantize_lines(o, step);
  if (step.unrecomputed_bytes > 0) out += recompute_line(o, step);
  for (const Sent& sent : sent_a_step(step, micro_batches(o)))
    out += row(fmt::format("sent a step over {}", sent.axes), i64(sent.bytes));
  if (!need.host) out += row("batches", need.batches);
  if (!need.host && need.start > 0) out += row("start", need.start);
  if (!need.host && need.data > 0) out += row("pages of the data", need.data);
  if (!need.host && need.others > 0) out += row("evaluation and saving", need.others);
  if (!need.host && need.copies > 0) out += row("copies for --async-save", need.copies);
  if (need.device_copies > 0) out += row("copies for --async-save", need.device_copies);
  if (!need.host && need.saving > 0) out += row("saving", need.saving);
  out += row(need.host ? "context and libraries" : "process and libraries", need.process);
  out += row("total", need.total());
  if (need.host && need.copies > 0) out += row("copies for --async-save, host", need.copies);
  if (need.host) out += row("beside it, of the host's", need.host_total());
  return out + "------------------------------------------------------";
}

std::string stages_report(StagePlans& plans) {
  if (plans.stages() == 1) return {};
  std::string out;
  for (int stage = 0; stage < plans.stages(); ++stage) {
    const Plan& plan = plans.at(stage).plan;
    out +=
        fmt::format("stage {}: {}; {} micro-batches in flight; arena {:.1f} MiB, kept activations {:.1f} MiB\n", stage,
                    plans.describe(stage), plans.in_flight(stage), mib(plan.arena_bytes), mib(plan.bytes(Role::kept)));
  }
  const ScheduleSpec& s = plans.at(0).pipeline->spec.schedule;
  if (!s.split_weights)
    out += fmt::format(
        "bubble: {:.1f}% of the time of the work, (stages - 1) / (micro-batches x pieces), if stages are equal\n",
        100.0 * (s.stages - 1) / (double(s.micro_batches) * s.chunks));
  out.pop_back();
  return out;
}

}  // namespace megalith
