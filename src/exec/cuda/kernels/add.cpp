// Kernels of Add, AddGrad and Broadcast.
#include "exec/cuda/kernels/add.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"
#include "ops/loops.h"

namespace megalith::cuda {

AddLaunch add_launch(DType x, DType y, const std::vector<Loop>& loops) {
  const bool flat = loops.empty() || (loops.size() == 1 && loops[0].stride[0] == 1 && loops[0].stride[1] == 1);
  return {x, y, size_of(loops), flat, table_of(loops)};
}

Kernel prepare(const Add& op, const KernelContext& context) {
  const auto [ins, outs] = split_spec(op.spec);
  const DType x = context.ins[0].dtype, y = context.ins[1].dtype;
  check(ins[0] == outs[0], "[add] {}: the first input must have the result's dims", op.spec);
  check_number(op.name, x), check_number(op.name, y);
  check((x == DType::f64) == (y == DType::f64), "[add] of {} and {}: cast one of them", name_of(x), name_of(y));
  const AddLaunch l = add_launch(x, y, make_loops({{ins[1], context.in_shape(1)}, {outs[0], context.out_shape(0)}}));
  return {0, [l](const Args& a) { launch(l, a.ins[0], a.ins[1], a.outs[0], a.stream); }};
}

Kernel prepare(const AddGrad& op, const KernelContext& context) {
  const std::string spec = letters(op.ndim);
  return prepare(Add{spec + "," + spec + "->" + spec}, context);
}

Kernel prepare(const Broadcast& op, const KernelContext& context) {
  const auto [ins, outs] = split_spec(op.spec);
  check_number(op.name, context.ins[0].dtype), check_number(op.name, context.outs[0].dtype);
  const auto loops = make_loops({{ins[0], context.in_shape(0)}, {outs[0], context.out_shape(0)}});
  const BroadcastLaunch l{context.ins[0].dtype, context.outs[0].dtype, size_of(loops), table_of(loops)};
  return {0, [l](const Args& a) { launch(l, a.ins[0], a.outs[0], a.stream); }};
}

}  // namespace megalith::cuda
