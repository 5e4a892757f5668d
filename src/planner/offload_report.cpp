#include "planner/offload_report.h"

#include <set>

#include "base/mib.h"
#include "graph/relayout_op.h"
#include "ops/state_window.h"

namespace megalith {

std::string offload_line(const Plan& plan) {
  i64 moved = 0, window = 0, at_once = 0;
  for (const Program& p : plan.programs) {
    std::set<int> stored;  // buffers
    i64 open = 0;
    for (const Instruction& in : p.instructions) {
      const i64 bytes = in.outs.empty() ? 0 : p.buffers[size_t(in.outs[0])].bytes;
      if (in.op.get_if<FetchState>())
        moved += bytes, window = std::max(window, bytes), open += bytes, at_once = std::max(at_once, open);
      else if (in.op.get_if<StoreState>() && in.op.lane())
        stored.insert(in.outs[0]);
      else if (in.op.get_if<StoreState>() || (in.op.get_if<Wait>() && stored.count(in.ins[0])))
        open -= bytes;
    }
  }
  if (moved == 0) return {};
  return fmt::format(
      "  offload: a step moves {:.1f} MiB of optimizer state from the host's memory and back, in windows of "
      "{:.1f} MiB, at most {:.1f} MiB at once\n",
      mib(moved), mib(window), mib(at_once));
}

}  // namespace megalith
