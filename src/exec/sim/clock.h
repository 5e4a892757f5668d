// How long an instruction takes: what a plan is run against.
#pragma once
#include "plan/plan.h"

namespace megalith::sim {

struct Took {
  double work = 0;      // seconds of the device's own
  double transfer = 0;  // of what goes to other ranks, or to the host
  double wire_bytes = 0;
  double total() const { return work + transfer; }
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Took seconds(const Plan& plan, const Program& program, const Instruction& in) const = 0;
  // Of a message from one rank to another.
  virtual double send(double bytes, int from, int to) const = 0;
  // A run's time over that of its instructions; what runs beside a transfer takes so many times as long.
  virtual double together() const { return 1; }
  virtual double overlap_slowdown() const { return 1; }
};

}  // namespace megalith::sim
