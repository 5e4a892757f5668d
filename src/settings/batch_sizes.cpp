#include "settings/batch_sizes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/plain_number.h"

namespace megalith {

namespace {

constexpr const char* kRamp = "--rampup-batch-size";
constexpr const char* kSteps = "--step-batch-size-schedule";

i64 whole_number(const std::string& text, const char* flag) {
  const std::string plain = plain_number(text);
  i64 value = 0;
  const auto [stop, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  check(error == std::errc{} && stop == plain.data() + plain.size() && value > 0,
        "{} holds '{}': want a whole number above 0", flag, text);
  return value;
}

// "250B", "1.5M", "0": K, M, B and T are thousands, millions and so on.
i64 number_with_unit(std::string text, const std::string& entry) {
  double unit = 1;
  constexpr std::string_view kUnits = "KMBT";
  const auto at = text.empty() ? std::string_view::npos : kUnits.find(char(std::toupper(text.back())));
  if (at != std::string_view::npos) unit = std::pow(1000.0, double(at + 1)), text.pop_back();
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = !text.empty() && error == std::errc{} && stop == text.data() + text.size();
  check(good && value >= 0 && value * unit < 1e18, "{}: '{}' is no TOKENS:SIZE, as in 250B:1536", kSteps, entry);
  return i64(value * unit);
}

}  // namespace

BatchSizes::BatchSizes(const Options& o)
    : at_once_(std::max<i64>(1, o.train.micro_batch_size * o.parallel.data_parallel_size())),
      rounds_(o.train.decrease_batch_size_if_needed) {
  const TrainConfig& t = o.train;
  if (!t.step_batch_size_schedule.empty())
    add_steps(t.step_batch_size_schedule, std::max<i64>(1, o.model.seq_length));
  else if (!t.rampup_batch_size.empty())
    add_ramp(t.rampup_batch_size, t.global_batch_size);
  else
    stages_.push_back({0, t.global_batch_size});
}

// From START on, INCREMENT more each time, up to `last` when SAMPLES are consumed. The comparisons are Megatron's, in
// double precision: a step begins where its share of SAMPLES does.
void BatchSizes::add_ramp(const std::vector<std::string>& words, i64 last) {
  check(words.size() == 3, "{} has {} values: want START INCREMENT SAMPLES", kRamp, words.size());
  const i64 start = whole_number(words[0], kRamp), increment = whole_number(words[1], kRamp),
            samples = whole_number(words[2], kRamp);
  check(start <= last, "{} starts with {}, more than --global-batch-size {}: lower it", kRamp, start, last);
  check((last - start) % increment == 0,
        "{}: from {} to --global-batch-size {} are {} sequences, which increments of {} do not divide: change one",
        kRamp, start, last, last - start, increment);
  const i64 steps = (last - start) / increment;
  ramp_samples_ = samples;
  const double each = double(samples) / double(std::max<i64>(1, steps));
  for (i64 k = 0; k <= steps; ++k) {
    i64 begin = i64(std::floor(double(k) * each));  // the first n with int(n / each) >= k
    while (begin > 0 && i64(double(begin - 1) / each) >= k) --begin;
    while (i64(double(begin) / each) < k && begin <= samples) ++begin;
    stages_.push_back({k == 0 ? 0 : begin, start + k * increment});
  }
}

// The words are one text that the shell may have cut, as where a script leaves out the quotes.
void BatchSizes::add_steps(const std::vector<std::string>& words, i64 seq_length) {
  std::string text = fmt::format("{}", fmt::join(words, " "));
  std::ranges::replace(text, ',', ' ');
  std::istringstream in(text);
  for (std::string entry; in >> entry;) {
    const auto colon = entry.find(':');
    check(colon != std::string::npos, "{}: '{}' is no TOKENS:SIZE, as in 250B:1536", kSteps, entry);
    const i64 begin = number_with_unit(entry.substr(0, colon), entry) / seq_length;
    const i64 size = number_with_unit(entry.substr(colon + 1), entry);
    check(size > 0, "{}: '{}' has the size 0: give more", kSteps, entry);
    stages_.push_back({begin, size});
  }
  std::ranges::stable_sort(stages_, {}, &Stage::begin);
  check(!stages_.empty() && stages_.front().begin == 0, "{} \"{}\" has no size for the start: begin with 0:SIZE",
        kSteps, text);
  for (size_t i = 1; i < stages_.size(); ++i)
    check(stages_[i].begin > stages_[i - 1].begin, "{} \"{}\" has two sizes from sample {} on: leave one out", kSteps,
          text, stages_[i].begin);
}

i64 BatchSizes::wanted(i64 consumed) const {
  const auto after = std::ranges::upper_bound(stages_, consumed, {}, &Stage::begin);
  return std::prev(after)->size;
}

i64 BatchSizes::largest() const { return rounded(std::ranges::max_element(stages_, {}, &Stage::size)->size); }

std::vector<i64> BatchSizes::from(i64 consumed) const {
  std::vector<i64> sizes = {at(consumed)};
  for (const Stage& s : stages_)
    if (s.begin > consumed) sizes.push_back(rounded(s.size));
  return sizes;
}

BatchSizes::End BatchSizes::end(const TrainConfig& t, i64 iteration, i64 consumed) const {
  const auto goes_on = [&](i64 k, i64 n) {
    if (t.train_iters > 0) return k < t.train_iters;
    if (!change()) return n + at(n) <= t.train_samples;  // a partial last batch is left out
    if (ramp_samples_ == 0) return n < t.train_samples;
    return n <= std::min(ramp_samples_, t.train_samples) || n + at(n) <= t.train_samples;
  };
  const i64 last_change = stages_.back().begin;
  for (; goes_on(iteration, consumed) && consumed <= std::max(last_change, ramp_samples_); ++iteration)
    consumed += std::max<i64>(1, at(consumed));
  // The rest is all alike.
  const i64 size = std::max<i64>(1, at(consumed));
  if (t.train_iters > 0) {
    const i64 rest = std::max<i64>(0, t.train_iters - iteration);
    return {iteration + rest, consumed + rest * size};
  }
  const i64 left = std::max<i64>(0, t.train_samples - consumed);
  const i64 rest = change() && ramp_samples_ == 0 ? (left + size - 1) / size : left / size;
  return {iteration + rest, consumed + rest * size};
}

i64 last_of_schedule(const std::vector<std::string>& schedule) {
  Options o;
  o.train.step_batch_size_schedule = schedule;
  try {
    return schedule.empty() ? 0 : BatchSizes(o).nominal();
  } catch (const Error&) {
    return 0;  // a rule reports it
  }
}

i64 micro_batches(const Options& o) {
  const BatchSizes sizes(o);
  return sizes.largest() / sizes.at_once();
}

}  // namespace megalith
