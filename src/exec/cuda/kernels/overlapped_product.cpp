// One product for each member's rows. It waits for these rows only, or they are sent while the next product runs. The
// communicator moves the parts (comms.h).
#include "exec/cuda/comms.h"
#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/product_pieces.h"

namespace megalith::cuda {

namespace {

KernelContext context_of(const LocalNode& node, const KernelContext& context) {
  return {context.mesh, context.coord, node.ins, node.outs, context.device, context.comms, context.tag};
}

// One op after the other: rows that are not consecutive would have to be packed.
Kernel in_turns(const OverlappedProduct& op, const ProductPieces& pieces, const KernelContext& context) {
  std::array<Kernel, 2> kernels;
  for (size_t k = 0; k < kernels.size(); ++k)
    kernels[k] = prepare_any(pieces.separate[k].op, context_of(pieces.node_of(k, context), context));
  const auto each = [op](const Args& a, const auto& f) {
    const auto parts = parts_of<std::byte*>(op, a.ins, a.outs);
    for (size_t k = 0; k < parts.size(); ++k)
      f(k, Args{parts[k].ins, parts[k].outs, a.workspace, a.first_micro_batch, a.stream});
  };
  const auto run = [=](const Args& a) { each(a, [&](size_t k, const Args& part) { kernels[k].run(part); }); };
  const auto tune = [=](const Args& a) {
    each(a, [&](size_t k, const Args& part) { kernels[k].tune ? kernels[k].tune(part) : void(); });
  };
  return {std::max(kernels[0].workspace, kernels[1].workspace), run, tune};
}

}  // namespace

Kernel prepare(const OverlappedProduct& op, const KernelContext& context) {
  const ProductPieces p(op, context);
  if (!p.possible()) return in_turns(op, p, context);
  const Kernel piece = prepare_any(p.product, context_of(p.piece_of(context), context));
  const i64 behind_piece = after_piece(piece.workspace);
  const auto group = communicator_group_of(op.move, context.mesh, context.coord);
  Comm* const comm = context.comms && group ? &context.comms->at(*group) : nullptr;
  const bool gathers = op.gathers();
  const DType dtype = context.ins[0].dtype, sums = context.outs[1].dtype;
  const i64 x_bytes = p.x_bytes, y_bytes = p.y_bytes;
  const int plus = p.plus, me = p.boxes.me;
  const RelayoutBoxes boxes = p.boxes;
  const auto run_piece = [=](const Args& a, int k, const std::function<void(const Args&)>& run) {
    std::vector<std::byte*> ins(a.ins.begin(), a.ins.end());
    ins[0] = !gathers ? a.ins[0] + k * x_bytes : k == me ? a.ins[0] : a.outs[1] + k * x_bytes;
    if (plus >= 0) ins[size_t(plus)] += k * y_bytes;
    std::byte* const y = (gathers ? a.outs[0] : a.outs[1]) + k * y_bytes;
    run({ins, {&y, 1}, a.workspace, a.first_micro_batch, a.stream});
  };
  const auto run = [=](const Args& a) {
    check(comm && a.lane, "an overlapped product on a single rank");
    const Beside work{*a.lane, a.stream, [&](int k) { run_piece(a, k, piece.run); }, a.waits};
    if (gathers)
      comm->all_gather(a.ins[0], a.outs[1], x_bytes / size_of(dtype), dtype, work);
    else
      comm->reduce_scatter(a.outs[1], a.outs[0], room_in(a.workspace + behind_piece, boxes), y_bytes / size_of(sums),
                           sums, work);
  };
  const auto tune = [=](const Args& a) {
    if (piece.tune) run_piece(a, me, piece.tune);
  };
  return {behind_piece + p.boxes.workspace, run, tune};
}

}  // namespace megalith::cuda
