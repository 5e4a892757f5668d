#include "observe/sinks/prometheus.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "observe/cast_values.h"
#include "settings/precision.h"

namespace megalith {

namespace {

constexpr double kPeakSeconds = 600;
// A step longer than this many medians makes the run unhealthy. Short steps vary more, so there is also a minimum in
// seconds.
constexpr double kStuckMedians = 10, kStuckSeconds = 5;
constexpr size_t kRanksTold = 8;

// Metrics with one value per iteration.
constexpr std::pair<std::string_view, std::string_view> kSameValue[] = {
    {"iteration_time", "megatron:iteration_time_seconds"},
    {"grad_norm", "megatron:grad_norm"},
    {"learning_rate", "megatron:learning_rate"},
    {"loss_scale", "megatron:loss_scale"},
    {"params_norm", "megatron:params_norm"},
    {"num_zeros", "megatron:num_zeros"}};
// Counts per iteration, exported as rates per second.
constexpr std::pair<std::string_view, std::string_view> kRates[] = {
    {"throughput", "megatron:tflops_per_gpu"},
    {"tokens_per_second", "megatron:tokens_per_second"},
    {"samples_per_second", "megatron:samples_per_second"},
    {"mfu", "megatron:mfu"}};

// Megatron's timers.
constexpr std::pair<const char*, const char*> kPhases[] = {
    {"forward-backward", "forward_backward"}, {"forward-compute", "forward"},        {"backward-compute", "backward"},
    {"all-grads-sync", "grad_reduce"},        {"params-all-gather", "param_gather"}, {"optimizer", "optimizer"},
    {"forward-recv", "forward_recv"},         {"backward-recv", "backward_recv"}};

const MetricValue* value_in(const Record& r, std::string_view metric) {
  const auto it = std::ranges::find_if(r.values, [&](const MetricValue& v) { return v.metric->name == metric; });
  return it == r.values.end() ? nullptr : &*it;
}

double now_of(const Record& r, std::string_view metric) {
  const MetricValue* value = value_in(r, metric);
  return value ? value->now : 0;
}

Labels layout_of(const Options& o) {
  const ParallelConfig& p = o.parallel;
  return {
      {"tp", std::to_string(p.tensor_model_parallel_size)}, {"pp", std::to_string(p.pipeline_model_parallel_size)},
      {"cp", std::to_string(p.context_parallel_size)},      {"dp", std::to_string(p.data_parallel_size())},
      {"ep", std::to_string(p.expert_model_parallel_size)}, {"dtype", std::string(name_of(precision_of(o).products))}};
}

// The program and its build, from Options::stack: "megalith 0.1.0; commit 98e7c903fd2a; CUDA 13.0.88".
Labels build_of(const std::string& stack) {
  constexpr std::pair<std::string_view, const char*> kParts[] = {
      {"megalith ", "version"}, {"commit ", "git"}, {"CUDA ", "cuda"}, {"NCCL ", "nccl"}};
  Labels labels;
  for (std::size_t at = 0; at < stack.size();) {
    const std::size_t end = std::min(stack.find("; ", at), stack.size());
    const std::string part = stack.substr(at, end - at);
    for (const auto& [begin, label] : kParts)
      if (part.starts_with(begin)) labels.emplace_back(label, part.substr(begin.size()));
    at = end + 2;
  }
  return labels;
}

const char* phase_of(Away where) { return where == Away::evaluating ? "eval" : "save_stall"; }

}  // namespace

PrometheusSink::PrometheusSink(Endpoint& endpoint, const Options& o, i64 iteration, std::function<double()> now,
                               std::function<double()> wall)
    : to_(endpoint), now_(std::move(now)), wall_(std::move(wall)), seq_length_(o.model.seq_length) {
  to_.set("megalith_run_info", 1, layout_of(o));
  if (const Labels build = build_of(o.stack); !build.empty()) to_.set("megalith_build_info", 1, build);
  to_.set("megalith_iteration", double(iteration));
  for (const char* counter :
       {"megatron:skipped_iterations_total", "megatron:nan_iterations_total", "megatron:loss_spikes_total",
        "megatron:grad_norm_spikes_total", "megalith_checkpoint_failures_total"})
    to_.add(counter, 0);  // exported as 0, so that the first increase is visible
}

void PrometheusSink::take(const Record& r) {
  const double seconds = now_of(r, "iteration_time");
  set_values(r, seconds);
  set_scales(r);
  set_casts(r);
  count(r);
  count_time(r.times);
  to_.set("megalith_last_step_timestamp_seconds", wall_());
  to_.set("megalith_iteration", double(r.iteration));
  to_.set("megalith_train_iters", double(r.train_iters));
  times_.add(seconds);
  say_healthy();
}

void PrometheusSink::set_values(const Record& r, double seconds) {
  for (const auto& [metric, series] : kSameValue)
    if (const MetricValue* v = value_in(r, metric)) to_.set(series, v->now);
  for (const auto& [metric, series] : kRates)
    if (const MetricValue* v = value_in(r, metric); v && seconds > 0) to_.set(series, v->now / seconds);
  for (const MetricValue& v : r.values)
    if (v.metric->name == "optimizer_states") to_.set("megatron:optimizer_state_norm", v.now, {{"state", v.name}});
  to_.set("megatron:loss", r.loss);
  if (const MetricValue* norm = value_in(r, "grad_norm")) set_peak(norm->now);
  if (const MetricValue* wait = value_in(r, "data_wait"))
    to_.set("megalith_phase_seconds", wait->now, {{"phase", "data_wait"}});
}

// A non-finite norm is not a peak: it has its own counter.
void PrometheusSink::set_peak(double norm) {
  const double now = now_();
  while (!peaks_.empty() && peaks_.front().at < now - kPeakSeconds) peaks_.pop_front();
  if (std::isfinite(norm)) {
    while (!peaks_.empty() && peaks_.back().value <= norm) peaks_.pop_back();
    peaks_.push_back({now, norm});
  }
  if (!peaks_.empty()) to_.set("megatron:grad_norm_peak", peaks_.front().value);
}

// A resumed run continues the counters of the previous process.
void PrometheusSink::count(const Record& r) {
  const i64 more = std::max<i64>(0, r.consumed_samples - samples_);
  to_.add("megatron:consumed_samples_total", double(more));
  to_.add("megatron:tokens_total", double(more * seq_length_));
  samples_ = r.consumed_samples;
  if (!r.counted) to_.add("megatron:skipped_iterations_total", 1);
  if (!r.finite) to_.add("megatron:nan_iterations_total", 1);
  count_spikes(r);
}

// The record has the seconds of this process so far.
void PrometheusSink::count_spikes(const Record& r) {
  constexpr std::pair<const char*, const char*> kSpikes[] = {{"loss_spikes", "megatron:loss_spikes_total"},
                                                             {"grad_norm_spikes", "megatron:grad_norm_spikes_total"}};
  for (size_t i = 0; i < std::size(kSpikes); ++i) {
    const double so_far = now_of(r, kSpikes[i].first);
    if (so_far > spikes_[i]) to_.add(kSpikes[i].second, so_far - std::exchange(spikes_[i], so_far));
  }
}

// A state without time has no series.
void PrometheusSink::count_time(std::span<const NamedValue> seconds) {
  for (const NamedValue& state : seconds) {
    double& told = seconds_[state.name];
    if (state.value <= told) continue;
    to_.add("megalith_time_seconds_total", state.value - told, {{"state", state.name}});
    told = state.value;
  }
}

void PrometheusSink::take_times(std::span<const NamedValue> seconds, i64) {
  for (const auto& [timer, phase] : kPhases)
    for (const NamedValue& v : seconds)
      if (v.name == timer && v.value > 0) to_.set("megalith_phase_seconds", v.value, {{"phase", phase}});
  double idle = 0;  // a stage waits for its input
  for (const NamedValue& v : seconds)
    if (v.name.ends_with("-recv")) idle += v.value;
  if (idle > 0) to_.set("megalith_phase_seconds", idle, {{"phase", "pipeline_idle"}});
}

void PrometheusSink::take_memory(const MemoryTold& memory) {
  const std::string stage = std::to_string(memory.stage);
  for (const NamedValue& v : memory.bytes)
    to_.set("megalith_memory_bytes", v.value, {{"stage", stage}, {"category", v.name}});
}

void PrometheusSink::set_scales(const Record& r) {
  if (!scales_ || !r.counted || r.amax.empty()) return;
  const Fp8Health health = scales_->take(r.amax);
  if (health.threshold == 0) return;
  to_.set("megatron:fp8_amax_history_max", health.amax);
  to_.set("megatron:fp8_amax_history_threshold", health.threshold);
  to_.set("megalith_fp8_scale_min", health.scale_min);
  to_.set("megalith_fp8_scale_max", health.scale_max);
}

void PrometheusSink::set_casts(const Record& r) {
  for (const CastShares& s : cast_shares(r.casts)) {
    if (s.kind.empty()) continue;
    const Labels of = {{"kind", s.kind}, {"layer", s.layer < 0 ? "all" : std::to_string(s.layer)}};
    to_.set("megalith_fp8_saturated", s.saturated, of);
    to_.set("megalith_fp8_underflow", s.underflow, of);
  }
}

void PrometheusSink::say_healthy() {
  to_.healthy_until(now_() + std::max(kStuckSeconds, kStuckMedians * times_.median()));
}

void PrometheusSink::leave(Away where) {
  if (away_) come_back();
  away_ = where, left_ = now_();
  to_.healthy_until(std::numeric_limits<double>::infinity());  // the duration is unknown
}

void PrometheusSink::come_back() {
  if (!away_) return;
  const double seconds = now_() - left_;
  to_.set("megalith_phase_seconds", seconds, {{"phase", phase_of(*away_)}});
  away_.reset();
  say_healthy();
}

void PrometheusSink::take_evaluation(const Evaluated& e) {
  if (!e.record || e.losses.empty()) return;
  const std::string set = e.set.starts_with("-") ? e.set.substr(1) : e.set;
  to_.set("megatron:validation_loss", e.losses[0].value, set.empty() ? Labels{} : Labels{{"set", set}});
}

void PrometheusSink::take_save(const EndedSave& save) {
  if (!save.is_saved) return to_.add("megalith_checkpoint_failures_total", 1);
  to_.set("megalith_checkpoint_last_iteration", double(save.iteration));
  to_.set("megalith_checkpoint_save_seconds", save.seconds);
  to_.set("megalith_checkpoint_bytes", double(save.bytes));
}

// The slowest and the fastest rank.
void PrometheusSink::take_own_work(std::span<const OwnWork> ranks) {
  std::vector<OwnWork> sorted(ranks.begin(), ranks.end());
  std::ranges::stable_sort(sorted, std::greater{}, &OwnWork::seconds);
  if (sorted.size() > kRanksTold) sorted.erase(sorted.begin() + kRanksTold / 2, sorted.end() - kRanksTold / 2);
  to_.clear("megalith_rank_own_seconds");
  for (const OwnWork& w : sorted)
    to_.set("megalith_rank_own_seconds", w.seconds, {{"rank", std::to_string(w.rank)}, {"host", w.host}});
}

// The ranks with the largest deviations. NaN is the largest.
void PrometheusSink::take_rank_losses(std::span<const LossDeviation> ranks) {
  std::vector<LossDeviation> sorted(ranks.begin(), ranks.end());
  for (LossDeviation& rank : sorted)
    if (std::isnan(rank.deviations)) rank.deviations = std::numeric_limits<double>::infinity();
  std::ranges::stable_sort(sorted, std::greater{}, [](const LossDeviation& r) { return std::abs(r.deviations); });
  if (sorted.size() > kRanksTold) sorted.resize(kRanksTold);
  to_.clear("megalith_rank_loss_deviation");
  for (const LossDeviation& r : sorted)
    to_.set("megalith_rank_loss_deviation", r.deviations,
            {{"data_parallel_rank", std::to_string(r.data_parallel_rank)}});
}

}  // namespace megalith
