// Kernels of RouterScores, LogSumExp, their gradients, and ExpertMap.
#include "exec/cuda/kernels/router/router_scores.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static RouterRows router_rows(std::string_view op, const KernelContext& context, int logits) {
  for (const Type& t : context.ins) check_dtype(op, t.dtype, {DType::f32});
  const Shape z = context.in_shape(logits);
  check(z[2] < i64{1} << 30, "[{}] {} experts are too many for its CUDA kernel", op, z[2]);
  return {z[0] * z[1], int(z[2])};
}

Kernel prepare(const RouterScores& op, const KernelContext& context) {
  return {0, [r = router_rows(op.name, context, 0), score = op.score](const Args& a) {
            launch_router_scores(r, score, a.in<float>(0), a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const RouterScoresGrad& op, const KernelContext& context) {
  return {0, [r = router_rows(op.name, context, 1), score = op.score](const Args& a) {
            launch_router_scores_grad(r, score, a.in<float>(0), a.in<float>(1), a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const LogSumExp& op, const KernelContext& context) {
  return {0, [r = router_rows(op.name, context, 0)](const Args& a) {
            launch_log_sum_exp(r, a.in<float>(0), a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const LogSumExpGrad& op, const KernelContext& context) {
  return {0, [r = router_rows(op.name, context, 1)](const Args& a) {
            launch_log_sum_exp_grad(r, a.in<float>(0), a.in<float>(1), a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const ExpertMap& op, const KernelContext& context) {
  check_dtype(op.name, op.dtype, {DType::f32});
  const Shape choice = context.in_shape(0);
  check(op.experts < i64{1} << 30, "[{}] {} experts are too many for its CUDA kernel", op.name, op.experts);
  const RouterRows r{choice[0] * choice[1], int(op.experts)};
  return {0,
          [r, k = int(choice[2])](const Args& a) { launch_expert_map(r, k, a.in<i32>(0), a.out<float>(0), a.stream); }};
}

}  // namespace megalith::cuda
