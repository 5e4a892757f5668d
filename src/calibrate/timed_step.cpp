#include "calibrate/timed_step.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/rng.h"
#include "ops/all.h"
#include "step/model_state.h"

namespace megalith {

namespace {

constexpr int kLooks = 5;  // of each instruction; the median counts

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

double median(std::vector<double> x) {
  std::ranges::sort(x);
  return x[x.size() / 2];
}

double typical(const std::vector<double>& x, bool gpu) { return gpu ? median(x) : std::ranges::min(x); }

double StepTimes::all() const { return std::accumulate(each.begin(), each.end(), 0.0); }

TimedCase timed(const ModelCase& m) { return {m.name(), m.spec(), m.seq, m.batch, m.vocab}; }

TimedStep::TimedStep(TimedCase model, const Backend& backend)
    : model_(std::move(model)), step_(plan_step(model_.spec, backend)) {
  program_ = step_.plan.index_of("last-micro-batch");
  interpreter_ = backend.make_interpreter(step_.plan, Coord{});
  ModelState(step_, *interpreter_).initialise(1);
  fill();
  step(), wait();
}

void TimedStep::fill() {
  const i64 n = model_.seq * model_.batch;
  for (i64 i = 0; i < n; ++i) {
    tokens_.push_back(i32(mix_all(3, i) % u64(model_.vocab)));
    labels_.push_back(i32(mix_all(4, i) % u64(model_.vocab)));
    positions_.push_back(i32(i / model_.batch));
  }
  mask_.assign(size_t(n), 1);
}

void TimedStep::put(const char* leaf, const void* data) {
  if (const Leaf* l = step_.plan.find_leaf(leaf)) interpreter_->write(*l, data);
}

void TimedStep::step() {
  const double step_scalars_in[] = {1e-4, 0.1, 0.1, 0.05};  // learning rate, weight decay, AdamW's corrections
  put("step_scalars_in", step_scalars_in), put("tokens", tokens_.data()), put("labels", labels_.data());
  put("loss_mask", mask_.data()), put("position_ids", positions_.data());
  interpreter_->run(program_, true);
}

void TimedStep::wait() { interpreter_->scalars(program_, "step"); }

double TimedStep::seconds_of(i64 steps) {
  const double began = now();
  for (i64 i = 0; i < steps; ++i) step();
  wait();
  return (now() - began) / double(steps);
}

StepTimes TimedStep::measure_in_turns(int turns) {
  StepTimes out;
  for (int turn = 0; turn < turns; ++turn) {
    const std::vector<double> times = interpreter_->time_instructions(program_);
    const double step = seconds_of(1);
    if (turn == 0) out.each = times, out.step = step;
    out.step = std::min(out.step, step);
    for (size_t i = 0; i < times.size(); ++i) out.each[i] = std::min(out.each[i], times[i]);
  }
  return out;
}

StepTimes TimedStep::measure(double warm, double measured) {
  const double one = seconds_of(1);
  seconds_of(std::max<i64>(1, i64(warm / one)));
  StepTimes out;
  std::vector<std::vector<double>> looks(program().instructions.size());
  for (int look = 0; look < kLooks; ++look) {
    const std::vector<double> times = interpreter_->time_instructions(program_);
    for (size_t i = 0; i < times.size(); ++i) looks[i].push_back(times[i]);
  }
  for (const std::vector<double>& each : looks) out.each.push_back(median(each));
  out.step = seconds_of(std::max<i64>(2, i64(measured / one)));
  return out;
}

}  // namespace megalith
