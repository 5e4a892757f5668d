#include "goodput/ledger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/process_start.h"

namespace megalith {

namespace {

// After a kill the last line may be incomplete.
bool lacks_newline(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() <= 0) return false;
  in.seekg(-1, std::ios::end);
  return in.get() != '\n';
}

// Interval between records. It is short at first, because a young run is often killed, and grows so that the file
// stays small.
double seconds_between(double age) {
  constexpr double kShortest = 0.5, kLongest = 60, kShare = 0.002;
  return std::clamp(age * kShare, kShortest, kLongest);
}

}  // namespace

Ledger::Clock Ledger::real_clock() {
  const auto started = process_start(getpid());
  return {steady_seconds, unix_seconds, started && *started > 0 ? std::max(0.0, process_age(*started)) : 0};
}

Ledger::Ledger(const std::string& directory, std::string stack, Clock clock)
    : clock_(std::move(clock)),
      stack_(std::move(stack)),
      began_(clock_.steady() - clock_.age),
      unix_began_(clock_.unix() - clock_.age),
      since_(began_),
      written_(began_) {
  if (directory.empty()) return;
  path_ = (std::filesystem::path(directory) / kLedgerFile).string();
  earlier_ = read_ledger(path_);
  if (lacks_newline(path_)) unwritten_ = "\n";
}

void Ledger::settle() {
  const double now = clock_.steady();
  pending_[size_t(state_)] += now - since_, own_[size_t(state_)] += now - since_;
  since_ = now;
}

TimeState Ledger::enter(TimeState state) {
  settle();
  return std::exchange(state_, state);
}

// Open only during a write, so that the run does not block an unmount.
void Ledger::append(const LedgerRecord& record) {
  if (path_.empty()) return;
  unwritten_ += ledger_line(record);
  const int makes = is_made_ ? 0 : O_CREAT;  // without O_CREAT: the file system may have been unmounted
  const int fd = open(path_.c_str(), O_WRONLY | makes | O_APPEND | O_CLOEXEC, 0666);
  struct stat before {};
  const bool known = fd >= 0 && fstat(fd, &before) == 0;
  const bool whole = known && ::write(fd, unwritten_.data(), unwritten_.size()) == ssize_t(unwritten_.size());
  const int cause = errno;
  // Removes a partly written line. If that fails too, the reader ignores the incomplete line.
  const bool torn = known && !whole && ftruncate(fd, before.st_size) != 0;
  if (fd >= 0) close(fd);
  is_made_ |= fd >= 0;
  if (whole) return unwritten_.clear();
  if (torn && !unwritten_.starts_with("\n")) unwritten_.insert(0, "\n");
  if (!warned_)
    log::warn("goodput ledger {}: {}: its records are kept for later; the run continues", path_, std::strerror(cause));
  warned_ = true;
}

void Ledger::start(i64 iteration) {
  LedgerRecord begin{.event = LedgerRecord::Event::start, .at = unix_began_, .iteration = iteration, .stack = stack_};
  append(begin);
  earlier_.push_back(std::move(begin));
  before_ = sum_ledger(earlier_);
  earlier_.clear();
  enter(TimeState::train);
  write(iteration);
}

void Ledger::finish_step(i64 iteration, double data_wait) {
  settle();
  auto& train = pending_[size_t(TimeState::train)];
  const double waited = std::clamp(data_wait, 0.0, train);
  train -= waited, pending_[size_t(TimeState::data_wait)] += waited;
  own_[size_t(TimeState::train)] -= waited, own_[size_t(TimeState::data_wait)] += waited;
  if (since_ - written_ >= seconds_between(since_ - began_)) write(iteration);
}

void Ledger::write(i64 iteration) {
  settle();
  append({.at = unix_began_ + since_ - began_, .iteration = iteration, .seconds = std::exchange(pending_, {})});
  written_ = since_;
}

void Ledger::end(i64 iteration) {
  settle();
  append({.event = LedgerRecord::Event::end,
          .at = unix_began_ + since_ - began_,
          .iteration = iteration,
          .seconds = std::exchange(pending_, {})});
  written_ = since_;
}

LedgerTotal Ledger::total() {
  settle();
  LedgerTotal total = before_;
  for (size_t s = 0; s < own_.size(); ++s) total.seconds[s] += own_[s];
  total.starts = std::max(1, total.starts);
  return total;
}

std::vector<NamedValue> Ledger::values() {
  std::vector<NamedValue> values;
  const LedgerTotal sums = total();
  for (size_t s = 0; s < sums.seconds.size(); ++s) values.push_back({std::string(kTimeStates[s]), sums.seconds[s]});
  return values;
}

}  // namespace megalith
