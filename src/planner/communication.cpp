#include "planner/communication.h"

#include <algorithm>

#include "ops/delayed_scale.h"
#include "ops/overlapped_product.h"

namespace megalith {

std::vector<Sent> sent_a_step(const PlannedStep& step, i64 micro_batches) {
  const Plan& plan = step.plan;
  std::vector<Sent> out;
  const auto add = [&](const std::string& axes, double bytes, double times) {
    auto it = std::find_if(out.begin(), out.end(), [&](const Sent& s) { return s.axes == axes; });
    if (it == out.end()) it = out.insert(out.end(), {axes});
    it->bytes += bytes * times, it->times += times;
  };
  for (const Program& p : plan.programs)
    for (const Instruction& in : p.instructions) {
      const auto* op = in.op.get_if<SharedAmax>() ? nullptr : relayout_of(in.op);
      const double times = runs_a_step(plan, p.name, in, micro_batches);
      if (!op || is_local(op->transfer) || plan.mesh.n(op->axes) == 1 || times == 0) continue;
      const bool is_product = in.op.get_if<OverlappedProduct>() != nullptr;
      const int from = is_product && op->transfer == Transfer::reduce_scatter ? in.outs[1] : in.ins[0];
      const int to = is_product && op->transfer == Transfer::all_gather ? in.outs[1] : in.outs[0];
      const i64 larger = std::max(p.buffers[size_t(from)].bytes, p.buffers[size_t(to)].bytes);
      const AxisSet axes = plan.mesh.used(op->axes);
      add(to_string(axes, plan.mesh.used()), wire_bytes(op->transfer, double(larger), plan.mesh.n(axes)), times);
    }
  if (!step.pipeline) return out;
  for (const StagePiece& piece : step.pipeline->pieces) {
    for (const std::string& leaf : messages("out", piece.sends, piece))
      add("pp", double(plan.leaf(leaf).bytes), double(micro_batches));
    for (const std::string& leaf : messages("din", piece.receives, piece))
      add("pp", double(plan.leaf(leaf).bytes), double(micro_batches));
  }
  return out;
}

}  // namespace megalith
