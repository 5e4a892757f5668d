// Runs the separate ops one after another. The values between them are in the workspace.
#include "ops/coded_result.h"

#include "exec/cpu/kernel.h"

namespace megalith::cpu {

Kernel prepare(const CodedResult& op, const KernelContext& context) {
  struct Step {
    CodedResult::Part part;
    Kernel kernel;
  };
  const Shape shape = local_shape(context.mesh, op.values.shape, op.values.layout);
  const i64 values = op.op ? (count(shape) * size_of(op.values.dtype) + 63) / 64 * 64 : 0;
  i64 most = 0;  // bytes of a step
  std::vector<Step> steps;
  for (const CodedResult::Part& part : op.parts(context.ins.size(), context.outs.size())) {
    KernelContext own = context;
    own.ins = of_part<Type>(part.ins, context.ins, op.values);
    own.outs = of_part<Type>(part.outs, context.outs, op.values);
    steps.push_back({part, prepare_any(part.op, own)});
    most = std::max(most, steps.back().kernel.workspace);
  }
  return {values + most, [steps, values](const Args& a) {
            for (const Step& step : steps) {
              const auto ins = of_part<std::byte*>(step.part.ins, a.ins, a.workspace);
              const auto outs = of_part<std::byte*>(step.part.outs, a.outs, a.workspace);
              step.kernel.run({ins, outs, a.workspace + values, a.first_micro_batch});
            }
          }};
}

}  // namespace megalith::cpu
