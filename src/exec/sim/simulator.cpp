#include "exec/sim/simulator.h"

#include <algorithm>

#include "exec/sim/overlap.h"
#include "exec/sim/overlapped_time.h"
#include "ops/host_copy.h"
#include "ops/state_window.h"

namespace megalith::sim {

Total& Total::operator+=(const Total& o) {
  flops += o.flops, bytes += o.bytes, wire_bytes += o.wire_bytes, seconds += o.seconds, instructions += o.instructions;
  return *this;
}

static bool over_the_bus(const AnyOp& op) {
  return op.get_if<FetchState>() || op.get_if<StoreState>() || op.get_if<HostFetch>() || op.get_if<HostStore>();
}

Took RatesClock::seconds(const Plan& plan, const Program& p, const Instruction& in) const {
  if (const auto* both = in.op.get_if<OverlappedProduct>())
    return overlapped_time(*both, in, plan.mesh.n(both->move.axes), true,
                           [&](const Instruction& one) { return seconds(plan, p, one); });
  double largest = 0;
  for (const auto* side : {&in.ins, &in.outs})
    for (int b : *side) largest = std::max(largest, double(p.buffers[size_t(b)].bytes));
  const Cost c = cost_of(plan, p, in);
  Took t;
  if (over_the_bus(in.op)) return {hw_.launch_seconds, c.bytes / hw_.host_bytes, c.bytes};
  const bool matrix = in.op.name() == "einsum" || in.op.name() == "quantized_product" ||
                      in.op.name() == "grouped_product" || in.op.name() == "quantized_grouped_product" ||
                      in.op.name().starts_with("attention");
  const double rate = matrix ? hw_.gemm_flops : hw_.vector_flops;
  t.work = std::max(c.flops / rate, c.bytes / hw_.memory_bytes) + hw_.launch_seconds;
  if (const auto* r = in.op.get_if<Relayout>()) t.wire_bytes = wire_bytes(r->transfer, largest, plan.mesh.n(r->axes));
  if (t.wire_bytes > 0) t.transfer = t.wire_bytes / hw_.link_bytes;
  return t;
}

Estimate simulate(const Plan& plan, const Program& program, const Hardware& hw, bool first) {
  return simulate(plan, program, RatesClock(hw), first);
}

Estimate simulate(const Plan& plan, const Program& program, const Clock& clock, bool first) {
  Estimate e;
  Overlap run(clock.beside());
  const double together = clock.together();
  std::vector<int> begun(program.buffers.size(), -1);  // tickets of buffers that a lane's transfer fills
  for (const Instruction& in : program.instructions) {
    if (in.first_only && !first) continue;
    Took took = clock.seconds(plan, program, in);
    const bool between_ranks = took.transfer > 0 && !over_the_bus(in.op);
    took.work *= together;
    if (!between_ranks) took.transfer *= together;
    const Cost cost = cost_of(plan, program, in);
    Total t{cost.flops, cost.bytes, took.wire_bytes, took.total(), 1};
    std::string name(in.op.name());
    if (const int lane = in.op.lane()) {
      name += fmt::format(", lane {}", lane);
      begun[size_t(in.outs[0])] = run.begin(lane, t.seconds, !over_the_bus(in.op));
    } else if (in.op.get_if<Wait>()) {
      t.seconds = run.wait(begun[size_t(in.ins[0])]);
      e.exposed += t.seconds;
    } else {
      const double moved = run.transfer(took.transfer);
      t.seconds = moved + run.work(took.work, took.table);
      e.exposed += moved;
    }
    e.total += t;
    e.by_op[name] += t;
  }
  e.total.seconds = run.now();
  return e;
}

std::string print(const Estimate& e) {
  std::vector<std::pair<std::string, Total>> rows(e.by_op.begin(), e.by_op.end());
  std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.second.seconds > b.second.seconds; });
  std::string out =
      fmt::format("  {:<20} {:>6} {:>12} {:>12} {:>12} {:>10}\n", "op", "runs", "GFLOP", "MB moved", "MB sent", "ms");
  auto line = [&](const std::string& name, const Total& t) {
    out += fmt::format("  {:<20} {:>6} {:>12.3f} {:>12.3f} {:>12.3f} {:>10.3f}\n", name, t.instructions, t.flops / 1e9,
                       t.bytes / 1e6, t.wire_bytes / 1e6, t.seconds * 1e3);
  };
  for (auto& [name, t] : rows) line(name, t);
  line("total", e.total);
  return out;
}

Hardware h200() { return {"H200", 660e12, 60e12, 4.25e12, 380e9, 3e-6, 50e9}; }

}  // namespace megalith::sim
