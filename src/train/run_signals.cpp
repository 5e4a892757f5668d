#include "train/run_signals.h"

#include <atomic>
#include <set>

namespace megalith {
namespace {

// The state that a signal handler reaches. Its only argument is the signal's number.
struct Word {
  std::atomic<i64> saves{0};
  std::atomic<int> leaving{0}, leaves{SIGTERM};
  std::atomic<bool> is_interrupted{false};
  struct sigaction interrupt_before {};
};
Word& word() {
  static Word it;
  return it;
}

void on_signal(int signal) {
  Word& w = word();
  if (signal == SIGINT && w.is_interrupted.exchange(true)) {
    sigaction(SIGINT, &w.interrupt_before, nullptr);
    raise(SIGINT);  // delivered as soon as this handler returns
    return;
  }
  if (signal == SIGUSR1 && signal != w.leaves) {
    ++w.saves;
    return;
  }
  int none = 0;
  w.leaving.compare_exchange_strong(none, signal);
}

}  // namespace

static void forget() {
  Word& w = word();
  w.saves = 0, w.leaving = 0, w.is_interrupted = false, w.leaves = SIGTERM;
}

static struct sigaction handler_of(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now;
}

static void take(int signal) {
  struct sigaction now {};
  now.sa_handler = on_signal;
  now.sa_flags = SA_RESTART;
  sigaction(signal, &now, nullptr);
}

EarlySignals::EarlySignals() : saves_before_(handler_of(SIGUSR1)), leaves_before_(handler_of(SIGUSR2)) {
  forget();
  if (saves_before_.sa_handler != SIG_IGN) take(SIGUSR1);
  if (leaves_before_.sa_handler != SIG_IGN) take(SIGUSR2);
}

EarlySignals::~EarlySignals() {
  sigaction(SIGUSR1, &saves_before_, nullptr), sigaction(SIGUSR2, &leaves_before_, nullptr);
  forget();
}

RunSignals::RunSignals(int leaves, bool named) {
  Word& w = word();
  w.leaves = leaves;
  if (leaves == SIGUSR1 && w.saves.exchange(0) > 0) on_signal(SIGUSR1);  // it came before the flag was read
  for (const int signal : std::set{SIGTERM, SIGINT, SIGUSR1, SIGUSR2, leaves}) {
    const struct sigaction before = handler_of(signal);
    const bool is_ignored = before.sa_handler == SIG_IGN;
    if (is_ignored && !(named && signal == leaves)) {
      if (signal != SIGINT) ignored_.push_back(signal);
      continue;
    }
    if (before.sa_handler == on_signal) continue;
    if (signal == SIGINT) w.interrupt_before = before;
    if (signal == SIGINT && is_ignored) w.interrupt_before.sa_handler = SIG_DFL;
    take(signal);
    taken_.push_back({signal, before});
  }
}

RunSignals::~RunSignals() {
  for (const Taken& t : taken_) sigaction(t.signal, &t.before, nullptr);
  forget();
}

i64 RunSignals::saves() const { return word().saves; }
int RunSignals::leaving() const { return word().leaving; }

}  // namespace megalith
