// Kernels of CodedResult.
#include "exec/cuda/kernels/quantize/coded_result.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/norm/norm.h"
#include "exec/cuda/kernels/quantize/cast_pointers.h"
#include "exec/cuda_needs/kernel_shapes.h"

namespace megalith::cuda {

namespace {

GateKind gate_of(const CodedResult& op) {
  if (const auto* swiglu = op.op ? op.op->get_if<Swiglu>() : nullptr) return GateKind(int(swiglu->act));
  if (const auto* grad = op.op ? op.op->get_if<SwigluGrad>() : nullptr) return GateKind(int(grad->act));
  return GateKind::silu;
}

// Computes first what the values need: of a norm each row's rstd. Returns the pointers to read.
using Begin = std::function<SourcePointers(const Args&)>;
Begin begin_of(const CodedResult& op, ValuesBy by, const KernelContext& context) {
  if (by == ValuesBy::gated_grad) return [](const Args& a) { return SourcePointers{.x = a.ins[1], .dy = a.ins[0]}; };
  if (by != ValuesBy::normed) return [](const Args& a) { return SourcePointers{.x = a.ins[0]}; };
  const auto& norm = *op.op->get_if<RmsNorm>();
  const NormLaunch l = plan_norm(norm_shape(norm.name, context, 0, false), norm.eps, norm_device(context));
  return [l](const Args& a) {
    launch(l, {a.ins[0], a.ins[1], nullptr, nullptr, nullptr, a.out<float>(0)}, a.stream);
    return SourcePointers{.x = a.ins[0], .w = a.ins[1], .rstd = a.out<float>(0)};
  };
}

}  // namespace

Kernel prepare(const CodedResult& op, const KernelContext& context) {
  const std::optional<CodedTiles> tiles = coded_tiles(op, context);
  check(tiles.has_value(), "[{}] has no CUDA kernel for {}", op.name, AnyOp(op).print());
  const std::vector<CodedResult::Part> parts = op.parts(context.ins.size(), context.outs.size());
  const std::vector<CodedResult::Part> casts(parts.begin() + (op.op ? 1 : 0), parts.end());
  const CodedLaunch l{*tiles, gate_of(op), rule_of(op.casts[0])};
  return {0, [op, casts, l, begin = begin_of(op, tiles->by, context)](const Args& a) {
            const auto cast = [&](int i) {
              if (i < 0) return CastPointers{};
              const auto ins = of_part<std::byte*>(casts[size_t(i)].ins, a.ins, nullptr);
              const auto outs = of_part<std::byte*>(casts[size_t(i)].outs, a.outs, nullptr);
              return cast_pointers(op.casts[size_t(i)], {ins, outs});
            };
            const SourcePointers source = begin(a);
            if (l.tiles.tensor >= 0)
              launch_coded_tensor(l, source, cast(l.tiles.tensor), a.stream);
            else
              launch_coded_boxes(l, source, cast(l.tiles.features), cast(l.tiles.tokens), a.stream);
          }};
}

}  // namespace megalith::cuda
