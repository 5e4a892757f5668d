#include "exec/cuda/kernels/attention/attention_padded.h"

#include "mesh/pieces.h"

namespace megalith::cuda {

PaddedRows::PaddedRows(const AttentionPadding& p, const std::vector<PaddedTensor>& tensors, bool into)
    : tensors_(tensors), size_(p.size), into_(into) {
  for (const PaddedTensor& t : tensors) {
    const i64 narrow = t.from, from = into ? narrow : size_, to = into ? size_ : narrow;
    BoxCopyList list;
    list.add(Box{0, 0, {t.rows, narrow}, {from, 1}, {to, 1}}, t.element, {Memory::in}, {Memory::out});
    copies_.push_back(std::move(list));
  }
}

void PaddedRows::replace(std::vector<std::byte*>& buffers, std::byte* workspace) const {
  for (const PaddedTensor& t : tensors_) buffers[size_t(t.index)] = workspace + t.place;
}

void PaddedRows::copy(std::span<std::byte* const> buffers, std::byte* workspace, cudaStream_t stream) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const PaddedTensor& t = tensors_[i];
    std::byte *own = buffers[size_t(t.index)], *wide = workspace + t.place;
    if (into_ && t.rows > 0)
      check_cuda(cudaMemset2DAsync(wide + t.from * t.element, size_t(size_ * t.element), 0,
                                   size_t((size_ - t.from) * t.element), size_t(t.rows), stream),
                 "[attention] zeros behind rows");
    into_ ? copies_[i].run(own, wide, nullptr, stream) : copies_[i].run(wide, own, nullptr, stream);
  }
}

Kernel padded(const AttentionPadding& p, Kernel inner) {
  return {p.bytes + inner.workspace, [ins = PaddedRows(p, p.ins, true), outs = PaddedRows(p, p.outs, false),
                                      bytes = p.bytes, run = std::move(inner.run)](const Args& a) {
            std::vector<std::byte*> from(a.ins.begin(), a.ins.end()), to(a.outs.begin(), a.outs.end());
            ins.replace(from, a.workspace), outs.replace(to, a.workspace);
            ins.copy(a.ins, a.workspace, a.stream);
            Args own = a;
            own.ins = from, own.outs = to, own.workspace = a.workspace + bytes;
            run(own);
            outs.copy(a.outs, a.workspace, a.stream);
          }};
}

}  // namespace megalith::cuda
