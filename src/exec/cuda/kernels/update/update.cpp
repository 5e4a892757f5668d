// Kernels of Accumulate, SumSquares, CountNonzeros and StepScalars.
#include "exec/cuda/kernels/update/update.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/scale.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Accumulate& op, const KernelContext& context) {
  const DType type = context.ins[0].dtype;
  check_dtype(op.name, type, {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32});
  check(type == context.ins[1].dtype, "[accumulate] of {} into {}: cast it", name_of(context.ins[1].dtype),
        name_of(type));
  if (type == DType::i32) {  // counters start from the model's value and accumulate over steps
    check(!op.starts, "[accumulate] sums of integers continue from step to step");
    return {0, [n = count(context.in_shape(0))](const Args& a) {
              launch_count_up(n, a.in<i32>(1), a.out<i32>(0), a.stream);
            }};
  }
  return {0, [type, n = count(context.in_shape(0)), starts = op.starts](const Args& a) {
            if (starts && a.first_micro_batch)
              launch(ScaleLaunch{type, type, 1, n}, a.ins[1], a.outs[0], a.stream);
            else
              launch_accumulate(type, n, a.ins[1], a.ins[0], a.outs[0], a.stream);
          }};
}

static Kernel squares_of_joined(i64 n) {
  return {
      squares_partials(n) * i64(sizeof(double)), [n](const Args& a) {
        launch_sum_squares({a.ins[0], a.ins[1], n}, reinterpret_cast<double*>(a.workspace), a.out<double>(0), a.stream);
      }};
}

Kernel prepare(const CountNonzeros& op, const KernelContext& context) {
  const DType type = context.ins[0].dtype;
  check_activation(op.name, type);
  const i64 n = count(context.in_shape(0));
  return {
      squares_partials(n) * i64(sizeof(double)), [type, n](const Args& a) {
        launch_count_nonzeros(type, {a.ins[0], n}, reinterpret_cast<double*>(a.workspace), a.out<double>(0), a.stream);
      }};
}

Kernel prepare(const SumSquares& op, const KernelContext& context) {
  const DType type = context.ins[0].dtype;
  check_activation(op.name, type);
  const i64 n = count(context.in_shape(0));
  if (op.rest) return squares_of_joined(n);
  if (op.marks) {
    const i64 rows = context.in_shape(0)[0];
    const MarkedRows sized{nullptr, nullptr, rows, n / std::max<i64>(1, rows)};
    return {sum_squares_partials(sized) * i64(sizeof(double)), [type, sized](const Args& a) {
              MarkedRows x = sized;
              x.x = a.ins[0], x.marks = a.in<u8>(1);
              launch_sum_squares(type, x, reinterpret_cast<double*>(a.workspace), a.out<double>(0), a.stream);
            }};
  }
  const SquaresItem sized{nullptr, n};
  return {sum_squares_partials({&sized, 1}) * i64(sizeof(double)), [type, n](const Args& a) {
            const SquaresItem item{a.ins[0], n};
            launch_sum_squares(type, {&item, 1}, reinterpret_cast<double*>(a.workspace), a.out<double>(0), a.stream);
          }};
}

Kernel prepare(const StepScalars& op, const KernelContext& context) {
  for (const Type& t : context.ins) check_number(op.name, t.dtype);
  const StepScalarsLaunch l{op.clip, context.ins[0].dtype, context.ins[1].dtype, context.ins[2].dtype,
                            op.scaling.value_or(LossScaling{})};
  return {0, [l, is_scaled = op.scaling.has_value()](const Args& a) {
            double* scale = is_scaled ? a.out<double>(1) : nullptr;
            launch_step_scalars(l, {a.ins[0], a.ins[1], a.ins[2]}, a.out<double>(0), scale, a.stream);
          }};
}

}  // namespace megalith::cuda
