#include "exec/sim/overlap.h"

#include <algorithm>
#include <limits>

namespace megalith::sim {

int Overlap::begin(int lane, double seconds, bool between_ranks) {
  moved_.push_back({seconds, between_ranks});
  const int ticket = int(moved_.size()) - 1;
  if (seconds > 0) lanes_[lane].push_back(ticket);
  return ticket;
}

double Overlap::slowdown(KernelKind::Table table) const {
  if (table == KernelKind::Table::product) return beside_.product;
  return table == KernelKind::Table::attention ? beside_.attention : beside_.memory;
}

std::vector<int> Overlap::heads() const {
  std::vector<int> out;
  for (const auto& [lane, tickets] : lanes_)
    if (!tickets.empty()) out.push_back(tickets.front());
  return out;
}

bool Overlap::moves_between_ranks() const {
  return std::ranges::any_of(heads(), [&](int h) { return moved_[size_t(h)].between_ranks; });
}

void Overlap::pass(double seconds, double transfer_slower) {
  now_ += seconds;
  for (const int h : heads()) {
    Moved& m = moved_[size_t(h)];
    m.left -= seconds / (m.between_ranks ? transfer_slower : 1);
  }
  // A transfer with only a rounding error left has ended.
  for (auto& [lane, tickets] : lanes_)
    if (!tickets.empty() && moved_[size_t(tickets.front())].left <= 1e-15)
      moved_[size_t(tickets.front())].left = 0, tickets.erase(tickets.begin());
}

double Overlap::run(double left, double slower, double transfer_slower) {
  const double began = now_;
  while (left > 0) {
    const double rate = moves_between_ranks() ? slower : 1;
    double step = left * rate;
    for (const int h : heads()) {
      const Moved& m = moved_[size_t(h)];
      step = std::min(step, m.left * (m.between_ranks ? transfer_slower : 1));
    }
    left = step >= left * rate ? 0 : left - step / rate;
    pass(step, transfer_slower);
  }
  return now_ - began;
}

double Overlap::work(double seconds, KernelKind::Table table) {
  return run(seconds, slowdown(table), beside_.transfer);
}

// Its kernels take SMs from a lane's kernels, as memory-bound kernels do.
double Overlap::transfer(double seconds) { return run(seconds, beside_.transfer, beside_.transfer); }

double Overlap::wait(int ticket) {
  const double began = now_;
  while (ticket >= 0 && moved_[size_t(ticket)].left > 0) {
    double step = std::numeric_limits<double>::infinity();
    for (const int h : heads()) step = std::min(step, moved_[size_t(h)].left);
    pass(step, 1);
  }
  return now_ - began;
}

}  // namespace megalith::sim
