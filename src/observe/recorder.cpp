#include "observe/recorder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "settings/schedules.h"

namespace megalith {

namespace {

NamedValue* find(std::vector<NamedValue>& values, const std::string& name) {
  const auto it = std::ranges::find(values, name, &NamedValue::name);
  return it == values.end() ? nullptr : &*it;
}

NamedValue& find_or_add(std::vector<NamedValue>& values, const std::string& name) {
  NamedValue* there = find(values, name);
  return there ? *there : values.emplace_back(NamedValue{name, 0});
}

bool uses_clock(const Metric& m) {
  return m.over_interval == OverInterval::each || m.over_interval == OverInterval::rate;
}

double reduced(OverRanks how, std::span<const double> shares) {
  if (how == OverRanks::max) return *std::ranges::max_element(shares);
  double sum = 0;
  for (double share : shares) sum += share;
  return sum;
}

}  // namespace

Recorder::Recorder(const Options& options, const RunProgress& start, i64 train_iters, std::optional<double> peak,
                   Ranks& ranks, std::span<const Metric> metrics)
    : options_(options),
      peak_(peak),
      size_(size_of(*step_spec(options).model)),
      ranks_(ranks),
      resumed_(start.state.iteration > 0),
      interval_(start.interval) {
  record_.train_iters = train_iters;
  for (const Metric& m : metrics)
    if (!m.asked || options.train.*m.asked) metrics_.push_back(&m);
}

bool Recorder::speaks() const {
  return ranks_.size() > 1 &&
         std::ranges::any_of(metrics_, [](const Metric* m) { return m->over_ranks != OverRanks::same; });
}

const Record& Recorder::take(const RunState& state, const StepResult& step, double next_rate,
                             std::optional<double> next_decoupled_rate) {
  Seen seen{.options = options_, .state = state, .step = step, .interval = interval_};
  seen.losses = {{"lm loss", step.loss}};
  seen.losses.insert(seen.losses.end(), step.terms.begin(), step.terms.end());
  seen.next_decoupled_rate = next_decoupled_rate;
  seen.next_rate = next_rate, seen.devices = ranks_.size(), seen.peak = peak_;
  seen.flops = size_.flops() * double(step.samples), seen.parameters = size_.parameters();
  seen.seconds = watch_.take(step.finished);
  seen.at = unix_seconds();
  seconds_ += seen.seconds;
  times_.add(seen.seconds);
  seen.time_deviation = times_.deviation();
  if (peak_bytes_ && options_.train.log_memory_to_tensorboard) seen.memory = {reserved_bytes_, peak_bytes_(), phases_};
  if (scales_ && step.counted && !step.amax.empty()) seen.scales = scales_->take(step.amax);
  ++(step.counted ? interval_.advanced : interval_.skipped);
  const bool finite = std::ranges::all_of(seen.losses, [](const NamedValue& l) { return std::isfinite(l.value); });
  if (!finite) ++interval_.nan;

  record_.is_first = record_.iteration == 0;
  record_.iteration = state.iteration, record_.consumed_samples = state.consumed_samples;
  record_.tokens = step.samples * options_.model.seq_length;
  record_.loss = step.loss;
  record_.counted = step.counted, record_.finite = finite;
  record_.tallies = step.tallies, record_.amax = step.amax, record_.casts = step.casts;
  record_.phases.clear();
  record_.values = values_of(seen);
  reduce_over_ranks(record_.values);
  reduce_over_interval(record_.values, step.counted);
  std::erase_if(record_.values, [](const MetricValue& v) { return v.metric->unless_zero && v.interval == 0; });
  // The first step after a resume gets its own line, as in any process, but the interval continues.
  record_.ends_interval = state.iteration % options_.train.log_interval == 0 || (record_.is_first && !resumed_);
  if (record_.ends_interval) start_interval();
  return record_;
}

std::vector<MetricValue> Recorder::values_of(const Seen& seen) const {
  std::vector<MetricValue> values;
  for (const Metric* m : metrics_) {
    if (m->terms)
      for (NamedValue& term : m->terms(seen)) values.push_back({m, std::move(term.name), term.value});
    else if (const std::optional<double> x = m->of(seen))
      values.push_back({m, std::string(m->name), *x});
  }
  return values;
}

// One exchange for all values. Sums are in rank order, so that all ranks get the same bits.
void Recorder::reduce_over_ranks(std::vector<MetricValue>& values) const {
  std::vector<MetricValue*> shared;
  std::vector<double> mine;
  for (MetricValue& v : values)
    if (v.metric->over_ranks != OverRanks::same) shared.push_back(&v), mine.push_back(v.now);
  if (shared.empty()) return;
  const size_t bytes = mine.size() * sizeof(double);
  const std::vector<std::string> told = ranks_.all_gather({reinterpret_cast<const char*>(mine.data()), bytes});
  std::vector<double> shares(told.size());
  for (size_t k = 0; k < shared.size(); ++k) {
    for (size_t r = 0; r < told.size(); ++r) {
      check(told[r].size() == bytes, "rank {} has another number of metrics than rank {}", r, ranks_.rank());
      std::memcpy(&shares[r], told[r].data() + k * sizeof(double), sizeof(double));
    }
    shared[k]->now = reduced(shared[k]->metric->over_ranks, shares);
  }
}

void Recorder::reduce_over_interval(std::vector<MetricValue>& values, bool counted) {
  ++timed_iterations_;
  for (MetricValue& v : values) {
    const OverInterval how = v.metric->over_interval;
    if (how == OverInterval::last) {
      v.interval = v.now;
    } else if (uses_clock(*v.metric)) {
      double& sum = find_or_add(timed_, v.name).value;
      sum += v.now;
      v.interval = sum / (how == OverInterval::rate ? seconds_ : double(timed_iterations_));
    } else {
      v.interval = add(v, counted);
    }
  }
}

// A skipped step contributes to sums only.
double Recorder::add(const MetricValue& v, bool counted) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const OverInterval how = v.metric->over_interval;
  if (how == OverInterval::max) {
    NamedValue* most = find(interval_.sums, v.name);
    if (!counted) return most ? most->value : kUnknown;
    if (!most) most = &interval_.sums.emplace_back(NamedValue{v.name, v.now});
    return most->value = std::max(most->value, v.now);
  }
  double& sum = find_or_add(interval_.sums, v.name).value;
  if (counted || how == OverInterval::sum) sum += v.now;
  if (how == OverInterval::sum) return sum;
  return interval_.advanced > 0 ? sum / double(interval_.advanced) : kUnknown;
}

// Maxima start as unknown; sums start at 0.
void Recorder::start_interval() {
  for (const MetricValue& v : record_.values)
    if (v.metric->over_interval == OverInterval::max)
      std::erase_if(interval_.sums, [&](const NamedValue& s) { return s.name == v.name; });
  for (NamedValue& s : interval_.sums) s.value = 0;
  interval_ = {.sums = std::move(interval_.sums)};
  timed_.clear();
  timed_iterations_ = 0, seconds_ = 0;
}

}  // namespace megalith
