#include "train/trainer.h"

#include <cmath>

#include "ops/update.h"

namespace megalith {

static int index_of(const Plan& plan, const std::string& program) {
  return int(&plan.program(program) - plan.programs.data());
}

Trainer::Trainer(const PlannedStep& step, Interpreter& interpreter, const OptimizerConfig& optimizer,
                 const Schedules& schedules)
    : plan_(step.plan),
      interpreter_(interpreter),
      optimizer_(optimizer),
      schedules_(schedules),
      feed_(step.plan, interpreter) {}

void Trainer::write_hyper(const RunState& state) {
  const double t = double(state.optimizer_steps + 1);
  double values[hyper::kSize];
  values[hyper::kLr] = schedules_.lr.at(state.schedule_samples);
  values[hyper::kWeightDecay] = schedules_.weight_decay.at(state.schedule_samples);
  values[hyper::kCorrection1] = 1 - std::pow(optimizer_.adam_beta1, t);
  values[hyper::kCorrection2] = 1 - std::pow(optimizer_.adam_beta2, t);
  interpreter_.write(plan_.leaf("hyper"), values);
}

StepResult Trainer::train_step(DataLoader& loader, i64 micro_batches, RunState& state) {
  write_hyper(state);
  const i64 before = loader.consumed_samples();
  for (i64 m = 0; m < micro_batches; ++m) {
    feed_(loader.next());
    interpreter_.run(index_of(plan_, m + 1 < micro_batches ? "micro-batch" : "last-micro-batch"), m == 0);
  }
  const auto scalars = interpreter_.scalars(index_of(plan_, "last-micro-batch"), "step");
  const StepResult r{
      scalars[step_scalar::kLoss], scalars[step_scalar::kGradNorm], scalars[step_scalar::kCounts] != 0, {}, {}};
  const i64 samples = loader.consumed_samples() - before;
  ++state.iteration;
  state.consumed_samples += samples;
  if (r.counted)
    ++state.optimizer_steps, state.schedule_samples += samples;
  else
    ++state.skipped_iterations;
  return r;
}

Trainer::Evaluation Trainer::evaluate(DataLoader& loader, i64 micro_batches) {
  const int program = index_of(plan_, "evaluate");
  for (i64 m = 0; m < micro_batches; ++m) {
    feed_(loader.next());
    interpreter_.run(program, m == 0);
  }
  return {interpreter_.scalars(program, "loss")[0], interpreter_.scalars(program, "tokens")[0]};
}

}  // namespace megalith
