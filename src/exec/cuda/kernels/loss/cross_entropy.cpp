// Kernels of VocabMax, VocabSums, VocabMaxSums, VocabLoss, VocabSumsGrad, CrossEntropy, CrossEntropyGrad. A rank's
// columns are increasing global indices, so those that exist (below `vocab`) come first.
#include "exec/cuda/kernels/loss/cross_entropy.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static VocabLaunch vocab_launch(std::string_view op, const KernelContext& context, int logits, i64 vocab) {
  const Type& t = context.ins[logits];
  const Shape x = context.in_shape(logits);
  check_activation(op, t.dtype);
  check(x[2] < (i64{1} << 31) && vocab < (i64{1} << 31), "[{}] {} columns are too many for its CUDA kernel", op, x[2]);
  VocabLaunch l{.dtype = t.dtype, .rows = x[0] * x[1], .width = int(x[2])};
  int runs = 0;
  for (const Run& run : index_runs(context.mesh, t.shape, t.layout, context.coord, 2)) {
    const i64 here = std::clamp<i64>(vocab - run.start, 0, run.length);
    if (here == 0) continue;
    check(runs < VocabLaunch::kMostRuns, "[{}] a vocabulary in more than {} runs of columns has no CUDA kernel", op,
          VocabLaunch::kMostRuns);
    l.start[runs] = int(run.start), l.length[runs] = int(here), l.valid += int(here);
    ++runs;
  }
  return l;
}

Kernel prepare(const VocabMax& op, const KernelContext& context) {
  const VocabLaunch l = vocab_launch(op.name, context, 0, op.vocab);
  return {0, [l](const Args& a) { launch_vocab_max(l, a.ins[0], a.out<float>(0), a.stream); }};
}

Kernel prepare(const VocabSums& op, const KernelContext& context) {
  const VocabLaunch l = vocab_launch(op.name, context, 0, op.vocab);
  return {0, [l](const Args& a) {
            launch_vocab_sums(l, a.ins[0], a.in<i32>(1), a.in<float>(2), a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const VocabMaxSums& op, const KernelContext& context) {
  const VocabLaunch l = vocab_launch(op.name, context, 0, op.vocab);
  return {0, [l](const Args& a) {
            launch_vocab_max_sums(l, a.ins[0], a.in<i32>(1), a.out<float>(0), a.out<float>(1), a.stream);
          }};
}

VocabLossLaunch plan_vocab_loss(const VocabLaunch& rows, int capability) {
  return {rows, vocab_loss_blocks(rows.dtype, rows.rows, rows.width, capability)};
}

Kernel prepare(const VocabLoss& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  const VocabLaunch l = vocab_launch(op.name, context, 1, op.vocab);
  const VocabLossLaunch once = plan_vocab_loss(l, context.device.capability());
  if (once.blocks > 0)
    return {0, [once](const Args& a) {
              launch_vocab_loss(once, {a.in<float>(0), a.ins[1], a.in<i32>(2), a.out<float>(0), a.outs[1]}, a.stream);
            }};
  return {vocab_loss_workspace(l.rows), [l](const Args& a) {  // m, dz
            float *m = reinterpret_cast<float*>(a.workspace), *dz = m + l.rows, *z = a.out<float>(0);
            launch_vocab_max_sums(l, a.ins[1], a.in<i32>(2), m, z, a.stream);
            launch_cross_entropy_grad(l.rows, a.in<float>(0), z, dz, a.stream);
            launch_vocab_sums_grad(l, {dz, a.ins[1], a.in<i32>(2), m, a.outs[1]}, a.stream);
          }};
}

Kernel prepare(const VocabSumsGrad& op, const KernelContext& context) {
  const VocabLaunch l = vocab_launch(op.name, context, 1, op.vocab);
  return {0, [l](const Args& a) {
            launch_vocab_sums_grad(l, {a.in<float>(0), a.ins[1], a.in<i32>(2), a.in<float>(3), a.outs[0]}, a.stream);
          }};
}

Kernel prepare(const CrossEntropy& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  return {0, [n = count(context.out_shape(0))](const Args& a) {
            launch_cross_entropy(n, a.in<float>(0), a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const CrossEntropyGrad& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32}), check_dtype(op.name, context.ins[1].dtype, {DType::f32});
  return {0, [n = count(context.in_shape(0))](const Args& a) {
            launch_cross_entropy_grad(n, a.in<float>(0), a.in<float>(1), a.out<float>(0), a.stream);
          }};
}

}  // namespace megalith::cuda
