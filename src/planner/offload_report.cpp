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

std::string activation_offload_lines(const OffloadConfig& config, const PlannedStep& step) {
  if (!config.on) return {};
  const OffloadReport& r = step.offloaded;
  i64 all = 0;
  std::string modules;
  for (const auto& [module, bytes] : r.bytes)
    modules += fmt::format("{}{} {:.1f} MiB", modules.empty() ? "" : ", ", module, mib(bytes)), all += bytes;
  if (all == 0)
    return fmt::format(
        "  activation offload: nothing is offloaded: no tensor of --min-offloaded-tensor-size {} elements "
        "is kept by these modules before the last layer, or the bus has no time for it\n",
        config.min_tensor_size);
  std::string out = fmt::format(
      "  activation offload: {:.1f} MiB of a micro-batch go to the host's memory and back: {}\n", mib(all), modules);
  if (step.unoffloaded_bytes > 0) {
    const i64 left = step.plan.program("micro-batch").activation_bytes;
    out += fmt::format("  activation offload: saves {:.1f} MiB of {:.1f} MiB of activations, {:.1f}%\n",
                       mib(step.unoffloaded_bytes - left), mib(step.unoffloaded_bytes),
                       100 * double(step.unoffloaded_bytes - left) / double(step.unoffloaded_bytes));
  }
  return out +
         fmt::format(
             "  activation offload: by the costs of an H100, {:.3g} ms each way beside {:.3g} ms of forward, of which "
             "the device waits for {:.3g} ms; recomputation takes {:.3g} ms at least\n",
             r.on_bus * 1e3, r.forward * 1e3, r.wait * 1e3, r.made_again * 1e3);
}

}  // namespace megalith
