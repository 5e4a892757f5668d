// Kernel of Update: a list with one parameter.
#include "exec/cuda/kernels/update/optimizer.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static_assert(kLrAt == step_scalars_in::kLr && kWeightDecayAt == step_scalars_in::kWeightDecay &&
              kOwnAt == step_scalars_in::kOwn);
static_assert(kFactorAt == step_scalar::kFactor && kCountsAt == step_scalar::kCounts);

UpdateTypes update_types(std::string_view op, std::span<const DType> ins, std::optional<DType> copy) {
  UpdateTypes types;
  types.split = ins[0] == DType::u16;
  if (!types.split) check_dtype(op, ins[0], {DType::f32});
  types.g = ins[1];
  for (size_t k = 2; k < ins.size(); ++k) types.states[k - 2] = ins[k];
  const DType half = copy == DType::f16 ? DType::f16 : DType::bf16;
  for (const DType t : ins.subspan(1)) check_dtype(op, t, {DType::f32, half});
  if (!copy && !types.split) return types;
  check(copy.has_value(), "[{}] weights without the copy that they are split from", op);
  check_activation(op, *copy);
  if (types.split) check_dtype(op, *copy, {DType::bf16});
  types.copy = *copy;
  return types;
}

Kernel prepare(const Update& op, const KernelContext& context) {
  std::vector<DType> ins;
  for (int i = 0; i < op.scalars_at(); ++i) ins.push_back(context.ins[size_t(i)].dtype);
  const std::optional<DType> copy = op.copy ? std::optional(context.ins[size_t(op.copy_at())].dtype) : std::nullopt;
  const UpdateLaunch l{op.rule, update_types(op.name, ins, copy)};
  const i64 n = count(context.in_shape(0)), width = op.marks ? n / std::max<i64>(1, context.in_shape(0)[0]) : 0;
  return {0, [l, n, width, op](const Args& a) {
            UpdateItem item{a.outs[0], a.ins[1], {}, op.copy ? a.outs.back() : nullptr, n, op.decay};
            for (int k = 0; k < op.states(); ++k) item.states[k] = a.outs[size_t(1 + k)];
            if (op.marks) item.marks = a.in<u8>(op.marks_at()), item.width = width;
            launch(l, {&item, 1}, {a.in<double>(op.scalars_at()), a.in<double>(op.step_scalars_in_at())}, a.stream);
          }};
}

}  // namespace megalith::cuda
