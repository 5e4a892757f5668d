// Kernels of Jitter and FakeLogits.
#include "exec/cuda/kernels/router/router_noise.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static NoisePlaces noise_places(const KernelContext& context, u64 seed) {
  return {seed, indices_of(context, 0, 0), indices_of(context, 0, 2), context.in_shape(0)[1]};
}

Kernel prepare(const Jitter& op, const KernelContext& context) {
  const DType dtype = context.ins[0].dtype;
  check_activation(op.name, dtype);
  return {0, [at = noise_places(context, op.seed), dtype, low = float(1 - op.eps), wide = float(2 * op.eps)](
                 const Args& a) { launch_jitter(at, dtype, low, wide, a.ins[0], a.in<i64>(1), a.outs[0], a.stream); }};
}

Kernel prepare(const FakeLogits& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  const NoisePlaces at = noise_places(context, op.seed);
  if (op.add == 0) return {0, [at](const Args& a) { launch_fake_logits(at, a.in<i64>(1), a.out<float>(0), a.stream); }};
  return {0, [at, add = op.add](const Args& a) {
            launch_biased_logits(at, add, a.in<float>(0), a.out<float>(0), a.stream);
          }};
}

}  // namespace megalith::cuda
