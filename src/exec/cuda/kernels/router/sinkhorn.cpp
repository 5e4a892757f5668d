// Kernel of Sinkhorn.
#include "exec/cuda/kernels/router/sinkhorn.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/router_room.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Sinkhorn& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  const Shape z = context.in_shape(0);
  check(z[2] <= SinkhornLaunch::kMostExperts, "[{}] {} experts: its CUDA kernel takes at most {}", op.name, z[2],
        SinkhornLaunch::kMostExperts);
  const SinkhornLaunch l{z[0] * z[1], int(z[2]), Sinkhorn::kMostRounds, float(Sinkhorn::kEps),
                         float(Sinkhorn::kEnough)};
  return {sinkhorn_bytes(l.tokens), [l](const Args& a) {
            launch_sinkhorn(l, a.in<float>(0), reinterpret_cast<float*>(a.workspace), a.out<float>(0), a.stream);
          }};
}

}  // namespace megalith::cuda
