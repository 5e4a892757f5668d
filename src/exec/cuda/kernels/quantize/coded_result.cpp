// Casts on the way out of the op that makes the values. Without such a kernel the separate ops run.
#include "exec/cuda/kernels/quantize/coded_result.h"

#include <algorithm>

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/norm/norm.h"
#include "exec/cuda/kernels/quantize/cast_pointers.h"
#include "exec/cuda_needs/coded_parts.h"
#include "exec/cuda_needs/kernel_shapes.h"

namespace megalith::cuda {

namespace {

ValuesSource source_of(const CodedResult& op) {
  if (!op.op) return {ValuesBy::none, GateKind::silu};
  if (op.op->get_if<RmsNorm>()) return {ValuesBy::normed, GateKind::silu};
  if (const auto* swiglu = op.op->get_if<Swiglu>()) return {ValuesBy::gated, GateKind(int(swiglu->act))};
  return {ValuesBy::gated_grad, GateKind(int(op.op->get_if<SwigluGrad>()->act))};
}

// The buffers of a part. values: those between the ops.
struct PartBuffers {
  std::vector<std::byte*> ins, outs;
  PartBuffers(const CodedResult::Part& part, const Args& a, std::byte* values)
      : ins(of_part<std::byte*>(part.ins, a.ins, values)), outs(of_part<std::byte*>(part.outs, a.outs, values)) {}
  Args args(const Args& a, std::byte* workspace = nullptr) const {
    return {ins, outs, workspace, a.first_micro_batch, a.stream};
  }
};

// Computes the statistics of a norm whose values are made later, and names them. Others need no launch.
using MadeFirst = std::function<SourcePointers(const Args&)>;
MadeFirst made_first(const CodedResult& op, const KernelContext& context) {
  if (const auto* norm = op.op ? op.op->get_if<RmsNorm>() : nullptr)
    return [l = plan_norm(norm_shape(norm->name, context, 0, false), norm->eps, norm_device(context))](const Args& a) {
      launch(l, {a.ins[0], a.ins[1], nullptr, nullptr, nullptr, a.out<float>(0)}, a.stream);
      return SourcePointers{.x = a.ins[0], .w = a.ins[1], .rstd = a.out<float>(0)};
    };
  if (op.op && op.op->get_if<SwigluGrad>())
    return [](const Args& a) { return SourcePointers{.x = a.ins[1], .dy = a.ins[0]}; };
  return [](const Args& a) { return SourcePointers{.x = a.ins[0]}; };
}

Kernel by_tiles(const CodedResult& op, const CodedTiles& tiles, const KernelContext& context) {
  const std::vector<CodedResult::Part> parts = op.parts(context.ins.size(), context.outs.size());
  const size_t first = op.op ? 1 : 0;
  const CodedLaunch l{source_of(op), tiles, rule_of(op.casts[0], op.values.dtype)};
  return {0, [op, parts, first, l, make = made_first(op, context)](const Args& a) {
            const auto cast = [&](int i) {
              if (i < 0) return CastPointers{};
              const PartBuffers buffers(parts[first + size_t(i)], a, nullptr);
              return cast_pointers(op.casts[size_t(i)], buffers.args(a));
            };
            const SourcePointers source = make(a);
            if (l.tiles.tensor >= 0)
              launch_coded_tensor(l, source, cast(l.tiles.tensor), a.stream);
            else
              launch_coded_boxes(l, source, cast(l.tiles.features), cast(l.tiles.tokens), a.stream);
          }};
}

Kernel one_after_another(const CodedResult& op, const KernelContext& context) {
  struct Step {
    CodedResult::Part part;
    Kernel kernel;
  };
  std::vector<Step> steps;
  const i64 values = values_bytes(op, context);
  i64 most = 0;
  for (const CodedResult::Part& part : op.parts(context.ins.size(), context.outs.size())) {
    KernelContext own = context;
    own.ins = ins_of(op, part, context), own.outs = outs_of(op, part, context);
    steps.push_back({part, prepare_any(part.op, own)});
    most = std::max(most, steps.back().kernel.workspace);
  }
  return {values + most, [steps, values](const Args& a) {
            for (const Step& step : steps)
              step.kernel.run(PartBuffers(step.part, a, a.workspace).args(a, a.workspace + values));
          }};
}

}  // namespace

Kernel prepare(const CodedResult& op, const KernelContext& context) {
  const std::optional<CodedTiles> tiles = coded_tiles(op, context);
  return tiles ? by_tiles(op, *tiles, context) : one_after_another(op, context);
}

}  // namespace megalith::cuda
