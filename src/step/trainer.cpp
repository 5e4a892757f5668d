#include "step/trainer.h"

#include <cmath>

#include "ops/update.h"
#include "optim/norms.h"
#include "optim/optimizer.h"
#include "step/step_batches.h"

namespace megalith {

void RunState::advance(i64 samples, bool counted) {
  ++iteration;
  consumed_samples += samples;
  if (counted)
    ++optimizer_steps, schedule_samples += samples;
  else
    ++skipped_iterations;
}

Trainer::Trainer(const PlannedStep& step, Interpreter& interpreter, const Coord& coord,
                 const OptimizerConfig& optimizer, const Schedules& schedules)
    : plan_(step.plan),
      interpreter_(interpreter),
      rates_{schedules, std::make_shared<OptimizerConfig>(optimizer)},
      states_(state_suffixes(optimizer)),
      terms_(step.terms),
      tallies_(step.tallies),
      scaling_(step.loss_scaling),
      inputs_(step.inputs),
      pipeline_(step.pipeline ? std::optional<Pipeline>(std::in_place, step, interpreter, coord) : std::nullopt),
      losses_(step, interpreter) {
  for (const ScaleStates& states : step.scales)
    if (const Program* end = plan_.find_program(updating()); end && end->outputs.contains(states.seen_name))
      amax_.push_back(states.seen_name);
  for (const CastCounts& counts : step.counts)
    if (const Program* end = plan_.find_program(updating()); end && end->outputs.contains(counts.seen_name))
      casts_.push_back(counts);
  if (!pipeline_) feed_.emplace(step.plan, step.inputs, interpreter, coord);
}

void Trainer::Rates::write(const RunState& state, const Optimizer& optimizer, const LrSchedule& lr, double* out) const {
  out[step_scalars_in::kLr] = lr.at(state.schedule_samples);
  out[step_scalars_in::kWeightDecay] = schedules.weight_decay.at(state.schedule_samples);
  optimizer.write_scalars(state.optimizer_steps + 1, out + step_scalars_in::kOwn);
}

static bool counts(std::span<const double> scalars) { return scalars[step_scalar::kCounts] != 0; }

void Trainer::write_step_scalars_in(const RunState& state) {
  const OptimizerConfig& c = *rates_.config;
  for (i64 i = 0; i < c.all.size(); ++i)
    for (const bool own_rate : {false, true})
      if (const Leaf* leaf = plan_.find_leaf(step_scalars_in_name(c, c.all.at(i), own_rate)))
        write_step_scalars_in(state, *leaf, c.all.at(i), own_rate);
}

void Trainer::write_step_scalars_in(const RunState& state, const Leaf& leaf, const Optimizer& optimizer,
                                    bool own_rate) {
  if (started_.empty()) {
    std::vector<double> values(size_t(leaf.type.elements()));
    rates_.write(state, optimizer, rates_.lr(own_rate), values.data());
    return interpreter_.write(leaf, values.data());
  }
  // By value: it may run after this object's end. (The optimizer belongs to the rates' config.)
  const auto after = [rates = rates_, &optimizer, own_rate, state, samples = started_.back().samples](
                         std::span<const double> scalars, std::byte* data) {
    RunState then = state;
    then.advance(samples, counts(scalars));
    rates.write(then, optimizer, rates.lr(own_rate), reinterpret_cast<double*>(data));
  };
  interpreter_.write_after(started_.back().ticket, leaf, after);
}

void Trainer::start_step(BatchSource& batches, i64 micro_batches, const RunState& state) {
  check(started_.size() < 2, "a third step is started before the first is finished");
  write_step_scalars_in(state);
  if (started_.empty()) write_loss_scale(state);
  const i64 before = batches.consumed_samples();
  const double waited = batches.seconds_waited();
  StepBatches all(batches, micro_batches, inputs_);
  losses_.begin();
  if (pipeline_) {
    pipeline_->step([&] { return all.next(); }, micro_batches, [&] { losses_.take(); });
    interpreter_.run(plan_.index_of("update"), false);
  }
  for (i64 m = 0; m < micro_batches && !pipeline_; ++m) {
    (*feed_)(all.next());
    const bool updates = m + 1 == micro_batches;
    interpreter_.run(plan_.index_of(updates ? "last-micro-batch" : "micro-batch"), m == 0);
    losses_.take();
  }
  Started step{.samples = batches.consumed_samples() - before, .data_wait = batches.seconds_waited() - waited};
  const int program = plan_.index_of(updating());
  step.ticket = interpreter_.request(program, "step");
  if (!tallies_.empty()) step.tally = interpreter_.request(program, kTally);
  if (scaling_) step.loss_scale = interpreter_.request(program, kLossScale);
  if (plan_.programs[size_t(program)].outputs.contains(kNonzeros))
    step.nonzeros = interpreter_.request(program, kNonzeros);
  for (const std::string& output : amax_) step.amax.push_back(interpreter_.request(program, output));
  for (const CastCounts& counts : casts_) step.casts.push_back(interpreter_.request(program, counts.seen_name));
  if (plan_.find_program(kNorms)) request_norms(step);
  step.micro_batches = losses_.all();
  started_.push_back(std::move(step));
}

// It overwrites the memory of earlier programs, so their results are requested first.
void Trainer::request_norms(Started& step) {
  const int program = plan_.index_of(kNorms);
  interpreter_.run(program, false);
  const auto& outputs = plan_.programs[size_t(program)].outputs;
  if (outputs.contains(kWeightSquares)) step.squares = interpreter_.request(program, kWeightSquares);
  for (const std::string& suffix : states_)
    if (const std::string output = squares_of_state(suffix); outputs.contains(output))
      step.states.push_back(interpreter_.request(program, output));
}

void Trainer::run_again(BatchSource& batches, i64 micro_batches) {
  check(started_.empty(), "a step is run again while another one is under way");
  StepBatches all(batches, micro_batches, inputs_);
  if (pipeline_) return pipeline_->step([&] { return all.next(); }, micro_batches, [] {});
  for (i64 m = 0; m < micro_batches; ++m) {
    (*feed_)(all.next());
    interpreter_.run(plan_.index_of("micro-batch"), m == 0);
  }
}

StepResult Trainer::finish_step(RunState& state) {
  const Started step = started_.front();
  started_.pop_front();
  StepResult r;
  r.finished = interpreter_.arrived(step.ticket);
  const std::vector<double> scalars = interpreter_.take(step.ticket);
  r.loss = scalars[step_scalar::kLoss], r.grad_norm = scalars[step_scalar::kGradNorm];
  if (step.tally) read_tallies(interpreter_.take(*step.tally), r);
  r.micro_batches = step.micro_batches;
  r.counted = counts(scalars), r.samples = step.samples, r.data_wait = step.data_wait;
  read_loss_scale(step, state, r);
  if (step.nonzeros) r.nonzeros = interpreter_.take(*step.nonzeros)[0];
  for (const int ticket : step.amax) {
    const std::vector<double> amax = interpreter_.take(ticket);
    r.amax.insert(r.amax.end(), amax.begin(), amax.end());
  }
  for (size_t i = 0; i < casts_.size(); ++i)
    add_cast_losses(casts_[i].names, interpreter_.take(step.casts[i]), r.casts);
  if (step.squares) r.params_norm = std::sqrt(interpreter_.take(*step.squares)[0]);
  for (size_t i = 0; i < step.states.size(); ++i)
    r.state_norms.push_back({states_[i], std::sqrt(interpreter_.take(step.states[i])[0])});
  state.advance(step.samples, r.counted);
  return r;
}

// If no step is running, the device has the values of the last step, or of a previous run.
void Trainer::write_loss_scale(const RunState& state) {
  if (!scaling_) return;
  const quant::LossScale start(scaling_->rule), scale = scaling_->constant ? start : state.loss_scale.value_or(start);
  double numbers[loss_scale_state::kSize];
  loss_scale_state::write(scale, numbers);
  interpreter_.write(plan_.leaf(kLossScale), numbers);
}

void Trainer::read_loss_scale(const Started& step, RunState& state, StepResult& out) {
  state.loss_scale.reset();
  if (!step.loss_scale) return;
  const quant::LossScale scale = loss_scale_state::read(scaling_->rule, interpreter_.take(*step.loss_scale).data());
  out.loss_scale = scale.scale;
  if (scaling_->constant) return;
  out.may_scale_down = !out.counted && scale.scale > scaling_->rule.least;
  state.loss_scale = scale;
}

// The terms' sums come first, each with its weight.
void Trainer::read_tallies(const std::vector<double>& numbers, StepResult& out) const {
  const size_t others = terms_.size() - 1;
  for (size_t i = 0; i < others; ++i) {
    const double sum = numbers[2 * i], weight = numbers[2 * i + 1];
    out.terms.push_back({terms_[i + 1], weight == 0 ? 0 : sum / weight});
  }
  for (size_t i = 2 * others; i < tallies_.size(); ++i) {
    const auto first = numbers.begin() + tallies_[i].at;
    out.tallies.push_back({tallies_[i].name, {first, first + tallies_[i].size}});
  }
}

Trainer::Evaluation Trainer::evaluate(BatchSource& batches, i64 micro_batches) {
  if (pipeline_) {
    pipeline_->evaluate([&] { return batches.next(); }, micro_batches);
    const StagePiece& last = pipeline_->last_piece();
    return evaluated(last.sends ? "" : "evaluate" + last.suffix);
  }
  const int program = plan_.index_of("evaluate");
  for (i64 m = 0; m < micro_batches; ++m) {
    (*feed_)(batches.next());
    interpreter_.run(program, m == 0);
  }
  return evaluated("evaluate");
}

Trainer::Evaluation Trainer::evaluated(const std::string& program) const {
  Evaluation out;
  for (size_t i = 1; i < terms_.size(); ++i) out.others.push_back({terms_[i]});
  if (program.empty()) return out;
  const int index = plan_.index_of(program);
  const auto scalar = [&](const std::string& name) { return interpreter_.scalars(index, name)[0]; };
  out.loss_sum = scalar("loss"), out.tokens = scalar("tokens");
  for (TermSums& term : out.others) {
    if (!plan_.program(program).outputs.contains(term.name + " sum")) continue;
    term.sum = scalar(term.name + " sum"), term.weight = scalar(term.name + " weight");
  }
  return out;
}

}  // namespace megalith
