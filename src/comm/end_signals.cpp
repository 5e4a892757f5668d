#include "comm/end_signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/dtype.h"

namespace megalith {
namespace {

// A signal handler receives only the signal's number, so its state is here.
struct Reach {
  std::atomic<int> wake_fd{-1}, told{0};
};
Reach& reach() {
  static Reach it;
  return it;
}

void on_signal(int signal) {
  const int error = errno;
  const u64 one = 1;
  reach().told = signal;
  if (write(reach().wake_fd, &one, sizeof one) < 0) errno = 0;  // a full counter wakes as well
  errno = error;
}

constexpr int kSignals[] = {SIGTERM, SIGINT};

void replace(int signal, void (*from)(int), void (*to)(int)) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != from) return;
  struct sigaction then {};
  then.sa_handler = to;
  then.sa_flags = SA_RESTART;
  sigaction(signal, &then, nullptr);
}

}  // namespace

EndSignals::EndSignals(int wake_fd) {
  reach().wake_fd = wake_fd;
  reach().told = 0;
  for (const int s : kSignals) replace(s, SIG_DFL, on_signal);
}

EndSignals::~EndSignals() {
  for (const int s : kSignals) replace(s, on_signal, SIG_DFL);
  reach().wake_fd = -1;
}

int EndSignals::told() const { return reach().told; }

}  // namespace megalith
