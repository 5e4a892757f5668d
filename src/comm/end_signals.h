// SIGTERM and SIGINT while ranks are joined. Launchers send SIGTERM to all ranks as soon as one has died, before
// anybody could say which: so it does not end this process at once, but wakes the watch thread, which ends it soon.
#pragma once

namespace megalith {

class EndSignals {
 public:
  // From now on signals write to an eventfd. Signals that are ignored, or have another handler, keep that.
  explicit EndSignals(int wake_fd);
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  int told() const;  // the signal that came, or 0
};

}  // namespace megalith
