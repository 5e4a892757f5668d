// Attention whose values have another size than keys, by the kernels for equal sizes
// (exec/cuda_needs/attention_padding.h).
#pragma once
#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/box_copy.h"
#include "exec/cuda_needs/attention_padding.h"

namespace megalith::cuda {

// Copies rows into the workspace, or out of it.
class PaddedRows {
 public:
  PaddedRows(const AttentionPadding& p, const std::vector<PaddedTensor>& tensors, bool into);
  // Replaces their buffers by those in the workspace.
  void replace(std::vector<std::byte*>& buffers, std::byte* workspace) const;
  // `buffers`: those of the op.
  void copy(std::span<std::byte* const> buffers, std::byte* workspace, cudaStream_t stream) const;

 private:
  std::vector<PaddedTensor> tensors_;
  std::vector<BoxCopyList> copies_;
  i64 size_;
  bool into_;
};

// `inner`: the kernel at p.node.
Kernel padded(const AttentionPadding& p, Kernel inner);

// The op's kernel with equal sizes; nothing if sizes are equal at `context`.
template <class T>
std::optional<Kernel> prepare_padded(const T& op, const KernelContext& context) {
  const auto p = padding_of(op, context);
  if (!p) return std::nullopt;
  return padded(*p, prepare(op, KernelContext(context.mesh, context.coord, p->node.ins, p->node.outs, context.device,
                                              context.comms, context.tag)));
}

}  // namespace megalith::cuda
