#include "data/greedy_blend.h"

#include <algorithm>
#include <bit>
#include <map>

namespace megalith {
namespace {

constexpr double kSlack = 0.005;  // the level is this far below the greatest lag

double lag_of(double weight, double taken, double time) {
  const double due = weight * time;  // rounded before the difference
  return due - taken;
}

// Maps doubles to integers in the same order, for comparison without branches. -0 does not occur.
i64 key_of(double x) {
  const i64 bits = std::bit_cast<i64>(x);
  return bits ^ i64(u64(bits >> 63) >> 1);
}

}  // namespace

GreedyBlend::GreedyBlend(std::span<const double> weights, std::span<const i64> limits, i64 sample,
                         std::span<const i64> taken)
    : taken_(taken.begin(), taken.end()),
      sample_(sample),
      window_(std::max<i64>(1024, 8 * i64(weights.size()))),
      first_at_(std::size_t(window_)) {
  std::map<double, std::vector<int>> by_weight;
  for (std::size_t d = 0; d < weights.size(); ++d) by_weight[weights[d]].push_back(int(d));
  for (auto& [weight, datasets] : by_weight) {
    const auto turn = std::ranges::min_element(datasets, {}, [&](int d) { return taken_[std::size_t(d)]; });
    lines_.push_back({.weight = weight,
                      .inverse = 1 / weight,
                      .limit = limits[std::size_t(datasets[0])],
                      .taken = taken_[std::size_t(*turn)],
                      .datasets = {},
                      .turn = std::size_t(turn - datasets.begin()),
                      .next = -1});
    lines_.back().datasets = std::move(datasets);
  }
  compared_.reserve(lines_.size());
  begin_window(0);
}

void GreedyBlend::begin_window(double level) {
  begin_ = sample_, end_ = sample_ + window_;
  level_ = level, lowest_ = std::numeric_limits<double>::max();
  compared_.clear();
  std::ranges::fill(first_at_, -1);
  for (int i = 0; i < int(lines_.size()); ++i)
    if (reached_at(lines_[std::size_t(i)]) < double(sample_ + 1))
      compare(i);
    else
      place(i);
}

// The sample at which a line's lag may reach the level, minus one for the rounding of the product.
double GreedyBlend::reached_at(const Line& line) const {
  if (line.taken >= line.limit) return std::numeric_limits<double>::infinity();
  const double missing = double(line.taken) + level_;
  return missing > 0 ? missing * line.inverse - 1 : 0;
}

void GreedyBlend::compare(int line) {
  const Line& l = lines_[std::size_t(line)];
  compared_.push_back({l.weight, double(l.taken), line});
}

// Lists the line at the sample of this window at which it is compared, if any.
void GreedyBlend::place(int line) {
  const double reached = reached_at(lines_[std::size_t(line)]);
  if (reached >= double(end_)) return;
  int& first = first_at_[std::size_t(i64(reached) - begin_)];
  lines_[std::size_t(line)].next = first, first = line;
}

void GreedyBlend::take_turn(Line& line) {
  ++taken_[std::size_t(line.datasets[line.turn])];
  if (++line.turn == line.datasets.size()) line.turn = 0;
  line.taken = taken_[std::size_t(line.datasets[line.turn])];
}

// Index of the line with the greatest lag; the lowest dataset on ties.
std::size_t GreedyBlend::choose_of_compared(double time, double& greatest) const {
  i64 best_key = std::numeric_limits<i64>::min();
  std::size_t best = 0;
  bool tied = false;
  for (std::size_t i = 0; i < compared_.size(); ++i) {
    const i64 key = key_of(lag_of(compared_[i].weight, compared_[i].taken, time));
    tied |= key == best_key;
    best = key > best_key ? i : best;
    best_key = std::max(best_key, key);
  }
  if (compared_.empty()) return void(greatest = std::numeric_limits<double>::lowest()), 0;
  greatest = lag_of(compared_[best].weight, compared_[best].taken, time);
  return tied ? lowest_of_compared(time, greatest) : best;
}

std::size_t GreedyBlend::lowest_of_compared(double time, double lag) const {
  std::size_t lowest = 0;
  int dataset = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < compared_.size(); ++i) {
    const Line& line = lines_[std::size_t(compared_[i].line)];
    if (lag_of(compared_[i].weight, compared_[i].taken, time) == lag && line.datasets[line.turn] < dataset)
      lowest = i, dataset = line.datasets[line.turn];
  }
  return lowest;
}

// Sets the level just below the greatest lag of all datasets.
void GreedyBlend::choose_level(double time) {
  double greatest = std::numeric_limits<double>::lowest();
  for (const Line& line : lines_)
    if (line.taken < line.limit) greatest = std::max(greatest, lag_of(line.weight, double(line.taken), time));
  begin_window(greatest - kSlack);
}

int GreedyBlend::next() {
  if (sample_ == end_) begin_window(lowest_ - kSlack);
  for (int i = first_at_[std::size_t(sample_ - begin_)]; i >= 0; i = lines_[std::size_t(i)].next) compare(i);

  const double time = std::max(double(sample_), 1.0);
  double greatest;
  std::size_t best = choose_of_compared(time, greatest);
  if (greatest < level_) {
    choose_level(time);
    best = choose_of_compared(time, greatest);
  }
  lowest_ = std::min(lowest_, greatest);

  Compared& chosen = compared_[best];
  const int number = int(chosen.line);
  Line& line = lines_[std::size_t(number)];
  const int dataset = line.datasets[line.turn];
  take_turn(line);
  ++sample_;
  if (reached_at(line) < double(sample_ + 1)) {
    chosen.taken = double(line.taken);
  } else {
    // Member by member, with the same sizes as the last store, so the loads need not wait for it.
    const Compared& last = compared_.back();
    chosen.weight = last.weight, chosen.taken = last.taken, chosen.line = last.line;
    compared_.pop_back();
    place(number);
  }
  return dataset;
}

}  // namespace megalith
