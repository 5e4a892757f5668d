// Embedding and EmbeddingGrad.
#include "exec/cuda/kernels/loss/embedding.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/kernel_shapes.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Embedding&, const KernelContext& context) {
  const EmbeddingShape s = embedding_shape(context, 1, 1);
  return {0, [s, bytes = size_of(context.ins[1].dtype)](const Args& a) {
            launch_embedding(s, bytes, a.in<i32>(0), a.ins[1], a.outs[0], a.stream);
          }};
}

Kernel prepare(const EmbeddingGrad& op, const KernelContext& context) {
  check_activation(op.name, context.ins[1].dtype);
  check_activation(op.name, context.outs[0].dtype);
  const EmbeddingGradLaunch l = plan_embedding_grad(embedding_shape(context, 1, 2), context.ins[1].dtype,
                                                    context.outs[0].dtype, context.device.sms());
  return {l.workspace, [l, op](const Args& a) {
            const bool add = op.accumulate && !(a.first_micro_batch && op.starts);
            u8* marks = op.marks ? a.out<u8>(1) : nullptr;
            launch(l, add, a.in<i32>(0), a.ins[1], a.outs[0], marks, a.workspace, a.stream);
          }};
}

}  // namespace megalith::cuda
