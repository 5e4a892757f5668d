// Kernels of AdamW and Sgd: lists of one parameter.
#include "exec/cuda/kernels/optimizer.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/supported.h"

namespace megalith::cuda {

static_assert(kLrAt == hyper::kLr && kWeightDecayAt == hyper::kWeightDecay && kCorrection1At == hyper::kCorrection1 &&
              kCorrection2At == hyper::kCorrection2);
static_assert(kFactorAt == step_scalar::kFactor && kCountsAt == step_scalar::kCounts);

// The type of the copy, with everything checked; `states`: w, g and the moments.
static DType copy_type(std::string_view op, const Site& site, int states, int copy) {
  for (int i = 0; i < states; ++i) check_dtype(op, site.ins[i].dtype, {DType::f32});
  if (copy < 0) return DType::bf16;
  check_activation(op, site.ins[copy].dtype);
  return site.ins[copy].dtype;
}

Kernel prepare(const AdamW& op, const Site& site) {
  const AdamWLaunch l{op.beta1, op.beta2, op.eps, copy_type(op.name, site, 4, op.copy ? 6 : -1)};
  return {0, [l, n = count(site.in_shape(0)), op](const Args& a) {
            const UpdateItem item{
                a.out<float>(0), a.in<float>(1), a.out<float>(1), a.out<float>(2), op.copy ? a.outs[3] : nullptr, n,
                op.decay};
            launch(l, {&item, 1}, {a.in<double>(4), a.in<double>(5)}, a.stream);
          }};
}

Kernel prepare(const Sgd& op, const Site& site) {
  const SgdLaunch l{op.momentum, copy_type(op.name, site, 3, op.copy ? 5 : -1)};
  return {0, [l, n = count(site.in_shape(0)), op](const Args& a) {
            const UpdateItem item{
                a.out<float>(0), a.in<float>(1), a.out<float>(1), nullptr, op.copy ? a.outs[2] : nullptr, n, op.decay};
            launch(l, {&item, 1}, {a.in<double>(3), a.in<double>(4)}, a.stream);
          }};
}

}  // namespace megalith::cuda
