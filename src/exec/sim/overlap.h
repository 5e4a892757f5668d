// A rank's time: its work in order, with concurrent transfers on lanes. Work during a transfer between ranks is
// slowed, and so is the transfer (BesideFacts). A copy over the bus slows nothing, and nothing slows it.
#pragma once
#include <map>
#include <vector>

#include "exec/sim/clock.h"

namespace megalith::sim {

class Overlap {
 public:
  explicit Overlap(const BesideFacts& beside) : beside_(beside) {}

  // Appends a transfer of this many seconds to the lane, and returns a ticket.
  int begin(int lane, double seconds, bool between_ranks);
  // Each advances the time, and returns the elapsed seconds. `work` ends when work that takes `seconds` without overlap
  // is done. `transfer` ends with a transfer in line, `wait` with a ticket's transfer. A ticket of -1 waits for
  // nothing.
  double work(double seconds, KernelKind::Table table);
  double transfer(double seconds);
  double wait(int ticket);
  double now() const { return now_; }

 private:
  struct Moved {
    double left;  // remaining seconds, if nothing slows it
    bool between_ranks;
  };
  double slowdown(KernelKind::Table table) const;
  bool moves_between_ranks() const;
  // The first transfer of each lane that has not ended, because each lane runs one at a time.
  std::vector<int> heads() const;
  // Advances by `left` seconds of work, which is `slower` during a transfer between ranks.
  double run(double left, double slower, double transfer_slower);
  void pass(double seconds, double transfer_slower);

  BesideFacts beside_;
  double now_ = 0;
  std::vector<Moved> moved_;
  std::map<int, std::vector<int>> lanes_;  // tickets of transfers that have not ended, in order
};

}  // namespace megalith::sim
