// Kernels of ExpertCapacity and its gradient.
#include "exec/cuda/kernels/router/expert_capacity.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/router_room.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const ExpertCapacity& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  const Shape p = context.in_shape(0);
  const i64 tokens = p[0] * p[1];
  check(count(p) < i64{1} << 31 && op.experts < i64{1} << 16, "[{}] {} is larger than its CUDA kernel takes", op.name,
        to_string(context.ins[0]));
  const CapacityLaunch l{tokens, int(p[2]), int(op.experts), op.capacity(tokens, p[2]), op.by == DropBy::weight};
  return {expert_lists_bytes(tokens, op.experts), [l](const Args& a) {
            i32* lists = reinterpret_cast<i32*>(a.workspace);
            launch_expert_capacity(l, {a.in<float>(0), a.in<i32>(1), a.out<float>(0), a.out<i32>(1), lists}, a.stream);
          }};
}

Kernel prepare(const ExpertCapacityGrad& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  return {0, [n = count(context.in_shape(0))](const Args& a) {
            launch_expert_capacity_grad(n, a.in<float>(0), a.in<i32>(1), a.out<float>(0), a.stream);
          }};
}

}  // namespace megalith::cuda
