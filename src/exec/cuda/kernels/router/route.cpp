// Kernels of Route and RouteGrad.
#include "exec/cuda/kernels/router/route.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static RouteLaunch route_launch(std::string_view op, const RouteSpec& at, const Shape& z) {
  check(z[2] <= RouteLaunch::kMostExperts, "[{}] {} experts: its CUDA kernel takes at most {}", op, z[2],
        RouteLaunch::kMostExperts);
  check(at.topk <= RouteLaunch::kMostChosen, "[{}] {} experts a token: its CUDA kernel takes at most {}", op, at.topk,
        RouteLaunch::kMostChosen);
  check(at.groups <= RouteLaunch::kMostGroups, "[{}] {} groups: its CUDA kernel takes at most {}", op, at.groups,
        RouteLaunch::kMostGroups);
  return {at.score,           at.pre_softmax,     at.bias,          at.by,
          z[0] * z[1],        int(z[2]),          int(at.topk),     int(at.groups),
          int(at.group_topk), int(at.group_best), float(at.scaling)};
}

Kernel prepare(const Route& op, const KernelContext& context) {
  for (const Type& t : context.ins) check_dtype(op.name, t.dtype, {DType::f32});
  const RouteLaunch l = route_launch(op.name, op.at, context.in_shape(0));
  return {0, [l](const Args& a) {
            const float* add = l.bias || l.by ? a.in<float>(1) : nullptr;
            launch_route(l, {a.in<float>(0), add, a.out<float>(0), a.out<i32>(1)}, a.stream);
          }};
}

Kernel prepare(const RouteGrad& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32}), check_dtype(op.name, context.ins[1].dtype, {DType::f32});
  const RouteLaunch l = route_launch(op.name, op.at, context.in_shape(1));
  return {0, [l](const Args& a) {
            launch_route_grad(l, {a.in<float>(0), a.in<float>(1), a.in<i32>(2), a.out<float>(0)}, a.stream);
          }};
}

}  // namespace megalith::cuda
