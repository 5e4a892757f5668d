// Computes nothing: it adds up flops, bytes and time of a plan from the ops' cost rules. An instruction takes the
// longer of its arithmetic and its memory traffic at the hardware's measured rates. A relayout takes its wire bytes
// over the link. Work on a lane overlaps with later instructions without slowing either; its Wait takes the remaining
// time.
#pragma once
#include <map>
#include <string>

#include "exec/sim/clock.h"

namespace megalith::sim {

struct Hardware {
  std::string name;
  double gemm_flops = 0;      // flop/s of matrix products and attention, all cores or one GPU
  double vector_flops = 0;    // flop/s of everything else
  double memory_bytes = 0;    // bytes/s
  double link_bytes = 0;      // bytes/s that one rank sends
  double launch_seconds = 0;  // fixed cost of an instruction
  double host_bytes = 0;      // bytes/s to the host's memory, and as many from there
};
// A clock with these rates.
class RatesClock final : public Clock {
 public:
  explicit RatesClock(Hardware hw) : hw_(std::move(hw)) {}
  Took seconds(const Plan& plan, const Program& program, const Instruction& in) const override;
  double send(double bytes, int, int) const override { return bytes / hw_.link_bytes; }

 private:
  Hardware hw_;
};

Hardware h200();  // docs/notes: 660 TFLOP/s bf16, 4.25 TB/s, NVLink 380 GB/s, PCIe 50 GB/s each way

struct Total {
  double flops = 0, bytes = 0, wire_bytes = 0, seconds = 0;
  i64 instructions = 0;
  Total& operator+=(const Total& o);
};

struct Estimate {
  Total total;                         // seconds: by the clock
  std::map<std::string, Total> by_op;  // "relayout, lane 2": the lane's own seconds
  double exposed = 0;                  // seconds of transfers that no other work hides
};

// One run of a program on one rank; `first`: in a step's first micro-batch.
Estimate simulate(const Plan& plan, const Program& program, const Hardware& hw, bool first = true);
Estimate simulate(const Plan& plan, const Program& program, const Clock& clock, bool first = true);
std::string print(const Estimate& e);

}  // namespace megalith::sim
