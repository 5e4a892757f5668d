// How long instructions take: the clock that a plan is simulated with.
#pragma once
#include "exec/sim/kernel_kind.h"
#include "facts/device_facts.h"

namespace megalith::sim {

struct Took {
  double work = 0;      // seconds of the device's own work
  double transfer = 0;  // seconds of data sent to other ranks, or to the host
  double wire_bytes = 0;
  KernelKind::Table table = KernelKind::Table::memory;  // of the work
  double total() const { return work + transfer; }
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Took seconds(const Plan& plan, const Program& program, const Instruction& in) const = 0;
  // Seconds of a message from one rank to another.
  virtual double send(double bytes, int from, int to) const = 0;
  // The time of a program's kernels divided by the sum of their single times.
  virtual double together() const { return 1; }
  virtual BesideFacts beside() const { return {}; }
};

}  // namespace megalith::sim
