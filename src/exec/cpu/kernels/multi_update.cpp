// Kernels of accumulation and update over many tensors. They run the kernels of single tensors one after another.
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

Kernel prepare(const MultiAccumulate& op, const KernelContext& context) {
  std::vector<Kernel> each;
  for (size_t i = 0; i < size_t(op.tensors); ++i) {
    const KernelContext one{
        context.mesh, context.coord, {context.ins[2 * i], context.ins[2 * i + 1]}, {context.outs[i]}};
    each.push_back(prepare(Accumulate{one.ins[0].ndim(), op.starts}, one));
  }
  return {0, [each](const Args& a) {
            for (size_t i = 0; i < each.size(); ++i)
              each[i].run({a.ins.subspan(2 * i, 2), a.outs.subspan(i, 1), a.workspace, a.first_micro_batch});
          }};
}

Kernel prepare(const MultiSumSquares&, const KernelContext& context) {
  std::vector<Kernel> each;
  i64 workspace = 0;
  for (const Type& t : context.ins) {
    each.push_back(prepare(SumSquares{t.ndim()}, KernelContext{context.mesh, context.coord, {t}, context.outs}));
    workspace = std::max(workspace, each.back().workspace);
  }
  return {workspace, [each](const Args& a) {
            double sum = 0;
            for (size_t i = 0; i < each.size(); ++i) {
              each[i].run({a.ins.subspan(i, 1), a.outs, a.workspace, false});
              sum += *a.out<double>(0);
            }
            *a.out<double>(0) = sum;
          }};
}

Kernel prepare(const MultiUpdate& op, const KernelContext& context) {
  std::vector<Kernel> each;
  i64 workspace = 0;
  for (int p = 0; p < op.parameters(); ++p) {
    KernelContext one{context.mesh, context.coord, {}, {}};
    for (int i : op.ins_of(p)) one.ins.push_back(context.ins[size_t(i)]);
    for (int i = 0; i < op.outs_each(); ++i) one.outs.push_back(context.outs[size_t(p * op.outs_each() + i)]);
    each.push_back(prepare(op.one(p, one.ins[0].ndim()), one));
    workspace = std::max(workspace, each.back().workspace);
  }
  return {workspace, [op, each](const Args& a) {
            for (int p = 0; p < op.parameters(); ++p) {
              std::vector<std::byte*> ins;
              for (int i : op.ins_of(p)) ins.push_back(a.ins[size_t(i)]);
              each[size_t(p)].run({ins, a.outs.subspan(size_t(p * op.outs_each())), a.workspace, false});
            }
          }};
}

}  // namespace megalith::cpu
