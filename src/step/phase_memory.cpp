#include "step/phase_memory.h"

#include <algorithm>
#include <utility>

#include "step/step.h"

namespace megalith {

namespace {

using Range = std::pair<i64, i64>;  // bytes [begin, end)

// Several buffers may share an address.
i64 covered(std::vector<Range> ranges) {
  std::ranges::sort(ranges);
  i64 bytes = 0, end = 0;
  for (const auto& [from, to] : ranges) bytes += std::max<i64>(0, to - std::max(from, end)), end = std::max(end, to);
  return bytes;
}

struct Live {
  Range range;
  int first, last;
};

// Memory besides the leaves. A value on a lane is in use until its Wait, its only reader.
std::vector<Live> temporaries(const Program& p) {
  std::vector<Live> out;
  for (const Buffer& b : p.buffers)
    if (b.leaf < 0 && b.first >= 0) out.push_back({{b.offset, b.offset + align_up(b.bytes)}, b.first, b.last});
  for (int i = 0; i < int(p.instructions.size()); ++i) {
    const Instruction& in = p.instructions[size_t(i)];
    const int last = in.op.lane() ? p.buffers[size_t(in.outs[0])].last : i;
    if (in.workspace_bytes > 0)
      out.push_back({{in.workspace, in.workspace + in.workspace_bytes}, i, std::max(i, last)});
  }
  return out;
}

i64& of_phase(PhaseMemory& m, Phase phase) {
  return phase == Phase::forward ? m.forward : phase == Phase::update ? m.update : m.backward;
}

}  // namespace

PhaseMemory phase_memory(const Plan& plan) {
  PhaseMemory out;
  for (const Program& p : plan.programs) {
    if (runs_a_step(plan, p.name, 2) == 0) continue;
    const std::vector<Live> all = temporaries(p);
    for (int i = 0; i < int(p.instructions.size()); ++i) {
      std::vector<Range> live;
      for (const Live& l : all)
        if (l.first <= i && i <= l.last && l.range.first >= plan.leaf_bytes) live.push_back(l.range);
      i64& most = of_phase(out, p.instructions[size_t(i)].phase);
      most = std::max(most, plan.leaf_bytes + covered(std::move(live)));
    }
  }
  return out;
}

}  // namespace megalith
