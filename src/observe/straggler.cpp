#include "observe/straggler.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "observe/rank_places.h"

namespace megalith {

namespace {

// The first `count` elements in the order of `before`; equal ones are ordered by rank.
template <class Before>
std::vector<OwnWork> first_by(std::vector<OwnWork> ranks, size_t count, Before&& before) {
  std::stable_sort(ranks.begin(), ranks.end(), before);
  ranks.resize(std::min(count, ranks.size()));
  return ranks;
}

template <class Value>
std::string list_of(const std::vector<OwnWork>& ranks, Value&& value) {
  std::vector<std::string> out;
  for (const OwnWork& r : ranks) out.push_back(fmt::format("{} rank {} on {}", value(r), r.rank, r.host));
  return fmt::format("{}", fmt::join(out, ", "));
}

double flops_a_step(const PlannedStep& step, i64 micro_batches) {
  double sum = 0;
  for (const Program& p : step.plan.programs)
    for (const Instruction& in : p.instructions)
      sum += runs_a_step(step.plan, p.name, micro_batches) * cost_of(step.plan, p, in).flops;
  return sum;
}

}  // namespace

std::string straggler_line(std::vector<OwnWork> ranks, int count) {
  std::vector<double> times;
  for (const OwnWork& r : ranks) times.push_back(r.seconds);
  const auto middle = times.begin() + i64(times.size()) / 2;
  std::nth_element(times.begin(), middle, times.end());
  const auto ms = [](const OwnWork& r) { return fmt::format("{:.1f}", 1e3 * r.seconds); };
  const auto tflops = [](const OwnWork& r) { return fmt::format("{:.4g}", r.tflops()); };
  const auto ends = [&](auto&& value, auto&& before) { return list_of(first_by(ranks, size_t(count), before), value); };
  using W = const OwnWork&;
  return fmt::format(
      " own compute time per iteration (ms): slowest {} | fastest {} | median {:.1f} | own throughput (TFLOP/s): "
      "lowest "
      "{} | highest {} |",
      ends(ms, [](W a, W b) { return a.seconds > b.seconds; }),
      ends(ms, [](W a, W b) { return a.seconds < b.seconds; }), 1e3 * *middle,
      ends(tflops, [](W a, W b) { return a.tflops() < b.tflops(); }),
      ends(tflops, [](W a, W b) { return a.tflops() > b.tflops(); }));
}

Straggler::Straggler(const PlannedStep& step, i64 micro_batches, Interpreter& interpreter, Ranks& ranks, int count)
    : interpreter_(interpreter), ranks_(ranks), count_(count), flops_(flops_a_step(step, micro_batches)) {
  interpreter.own_seconds();  // start of the next interval
}

std::string Straggler::report() {
  pause();
  const double seconds = std::exchange(seconds_, 0) / double(std::max<i64>(1, std::exchange(steps_, 0)));
  const std::vector<std::string> told = ranks_.all_gather(nlohmann::json{name_of_host(), seconds, flops_}.dump());
  std::vector<OwnWork> all;
  for (size_t r = 0; r < told.size(); ++r) {
    const auto [host, s, flops] = nlohmann::json::parse(told[r]).get<std::tuple<std::string, double, double>>();
    all.push_back({int(r), host, s, flops});
  }
  last_ = all;
  return straggler_line(std::move(all), count_);
}

}  // namespace megalith
