#include "train/plan_report.h"

#include "train/flops.h"
#include "train/schedules.h"

namespace megalith {

static double mib(i64 bytes) { return double(bytes) / (1 << 20); }

i64 total_bytes(const PlannedStep& step, const Backend& backend) { return step.plan.arena_bytes + backend.fixed_bytes(); }

std::string plan_report(const Options& o, const PlannedStep& step, const Backend& backend) {
  i64 parameters = 0, padding = 0;
  for (const Parameter& p : step.parameters) {
    parameters += count(p.true_shape());
    padding += p.type.elements() - count(p.true_shape());
  }
  std::string out = "------------------------ plan ------------------------\n";
  out += fmt::format("  parameters                   {:>16}   (+ {} of vocabulary padding)\n", parameters, padding);
  for (const Program& p : step.plan.programs)
    out += fmt::format("  {:<28} {:>16} instructions\n", "program " + p.name, p.instructions.size());
  out += fmt::format("  model flops per iteration    {:>16.4g}\n", flops_per_iteration(o.model, o.train.global_batch_size));
  out += memory_table(step.plan);
  out += fmt::format("  {:<28} {:>16} bytes  {:>10.1f} MiB\n", "process and libraries", backend.fixed_bytes(),
                     mib(backend.fixed_bytes()));
  out += fmt::format("  {:<28} {:>16} bytes  {:>10.1f} MiB\n", "total", total_bytes(step, backend),
                     mib(total_bytes(step, backend)));
  return out + "------------------------------------------------------";
}

// The largest micro-batch below the given one that divides the global batch and fits; 0 if none does.
static i64 largest_that_fits(const Options& options, const Backend& backend) {
  for (i64 b = options.train.micro_batch_size - 1; b > 0; --b) {
    if (options.train.global_batch_size % b) continue;
    Options smaller = options;
    smaller.train.micro_batch_size = b;
    if (total_bytes(plan_step(step_spec(smaller), backend), backend) <= backend.available_bytes()) return b;
  }
  return 0;
}

void check_memory(const Options& options, const PlannedStep& step, const Backend& backend) {
  const i64 need = total_bytes(step, backend), have = backend.available_bytes();
  if (need <= have) return;
  const i64 b = largest_that_fits(options, backend);
  const std::string advice = b > 0 ? fmt::format("--micro-batch-size {} fits", b)
                                   : "no micro-batch size fits: use a smaller model or --seq-length, or --bf16";
  fail("the plan needs {:.1f} MiB, {:.1f} MiB are available: {}", mib(need), mib(have), advice);
}

}  // namespace megalith
