// Codes and scales, bitwise equal to those of the CPU.
#include "exec/cuda/kernels/quantize/quantize.h"

#include <algorithm>

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/quantize/cast_pointers.h"
#include "exec/cuda_needs/code_tiles.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

namespace {

BoxLaunch box_launch(const Quantize& op, const KernelContext& context) {
  Shape shape = context.in_shape(0), box = op.box;
  if (shape.empty()) shape = box = {1};
  check(int(shape.size()) <= BoxLaunch::kMostDims, "[{}] {} dims: want at most {}", op.name, shape.size(),
        BoxLaunch::kMostDims);
  const auto [rows, columns] = code_matrix(op, context);
  BoxLaunch l{.x = context.ins[0].dtype,
              .rule = rule_of(op),
              .dims = int(shape.size()),
              .size = {},
              .box = {},
              .grid = {},
              .elements = count(shape),
              .boxes = 1,
              .rows = rows,
              .columns = columns,
              .parts = op.by_sequence ? shape[1] : 1,
              .stochastic = op.stochastic,
              .seed = op.seed,
              .index = {}};
  for (int d = 0; d < l.dims; ++d) {
    l.size[d] = shape[size_t(d)], l.box[d] = box[size_t(d)];
    l.grid[d] = (l.size[d] + l.box[d] - 1) / l.box[d], l.boxes *= l.grid[d];
    if (op.stochastic) l.index[d] = indices_of(context, 0, d);
  }
  check(l.boxes == count(context.out_shape(1)), "[{}] {} boxes, {} scales", op.name, l.boxes,
        count(context.out_shape(1)));
  return l;
}

}  // namespace

Kernel prepare(const Amax& op, const KernelContext& context) {
  check(count(context.out_shape(0)) == 1, "[{}] {} numbers of a rank: want one", op.name, count(context.out_shape(0)));
  check_number(op.name, context.ins[0].dtype);
  const AmaxLaunch l{context.ins[0].dtype, count(context.in_shape(0))};
  return {0, [l](const Args& a) { launch(l, a.ins[0], a.out<float>(0), a.stream); }};
}

Kernel prepare(const Quantize& op, const KernelContext& context) {
  check_number(op.name, context.ins[0].dtype);
  const Shape shape = context.in_shape(0);
  if (count(shape) == 0)
    return {0, [op, x = context.ins[0].dtype](const Args& a) {
              if (op.gives_amax) launch_first_amax({x, 0}, cast_pointers(op, a), a.stream);
              start_counts(cast_pointers(op, a), a.stream);
            }};
  if (const auto tiles = code_tiles(op, context))
    return {0, [op, l = TileLaunch{context.ins[0].dtype, rule_of(op), *tiles}](const Args& a) {
              launch(l, cast_pointers(op, a), a.stream);
            }};
  if (has_box_scales(op))
    return {quantize_workspace(op, context), [op, l = box_launch(op, context)](const Args& a) {
              const i64* numbers = op.stochastic ? a.in<i64>(int(a.ins.size()) - 1) : nullptr;
              launch(l, cast_pointers(op, a), reinterpret_cast<float*>(a.workspace), numbers, a.stream);
            }};
  check(count(context.out_shape(1)) == 1, "[{}] {} boxes of a rank with a tensor's amax: want one", op.name,
        count(context.out_shape(1)));
  const auto [rows, columns] = code_matrix(op, context);
  const CastLaunch l{context.ins[0].dtype, rule_of(op), rows, columns};
  return {0, [op, l](const Args& a) {
            const CastPointers p = cast_pointers(op, a);
            if (op.gives_amax) launch_first_amax({l.x, l.rows * l.columns}, p, a.stream);
            launch(l, p, a.stream);
          }};
}

Kernel prepare(const RotateTokens& op, const KernelContext& context) {
  check_number(op.name, context.ins[0].dtype);
  const Shape shape = context.in_shape(0);
  constexpr i64 kMostTokens = 65535 * RotateTokens::kTokens;  // limit of the grid's second dimension
  check(shape[0] % RotateTokens::kTokens == 0 && shape[0] <= kMostTokens,
        "[{}] {} tokens of a rank: want a multiple of {}, at most {}", op.name, shape[0], RotateTokens::kTokens,
        kMostTokens);
  const RotateLaunch l{context.ins[0].dtype, shape[0], shape[0] > 0 ? count(shape) / shape[0] : 0};
  return {0, [l](const Args& a) { launch(l, a.ins[0], a.outs[0], a.stream); }};
}

}  // namespace megalith::cuda
