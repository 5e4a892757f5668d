// Kernels of optimizer state in windows. On the CPU, host and device have the same memory, so FetchState and StoreState
// copy. On a lane, StoreState copies when its transfer ends, which is the latest time on a GPU.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/copy_bytes.h"

namespace megalith::cpu {

namespace {

// Calls f(leaf, offset in the leaf, offset in the window, bytes) for each leaf. Offsets are in bytes.
template <class F>
void for_leaves(const Window& w, F&& f) {
  for (size_t k = 0; k < w.stretches.size(); ++k)
    for (int s = 0; s < w.states(); ++s) {
      const i64 element = size_of(w.types[size_t(s)]);
      f(k * size_t(w.states()) + size_t(s), w.stretches[k].begin * element, w.place(k, s),
        w.stretches[k].count * element);
    }
}

}  // namespace

Kernel prepare(const FetchState& op, const KernelContext&) {
  return {0,
          [op](const Args& a) {
            for_leaves(op.window, [&](size_t leaf, i64 from, i64 to, i64 bytes) {
              copy_bytes(a.outs[0] + to, a.ins[leaf] + from, bytes);
            });
          },
          [](const Args&) {}};
}

Kernel prepare(const StoreState& op, const KernelContext&) {
  const auto store = [op](const Args& a) {
    for_leaves(op.window, [&](size_t leaf, i64 to, i64 from, i64 bytes) {
      copy_bytes(a.ins[1 + leaf] + to, a.ins[0] + from, bytes);
    });
  };
  if (!op.lane) return {0, store};
  return {0, [](const Args&) {}, store};
}

// Updates the stretches one after another.
Kernel prepare(const WindowUpdate& op, const KernelContext& context) {
  const int states = states_of(op.rule);
  const bool copy = op.copy();
  std::vector<Kernel> each;
  for (size_t k = 0; k < op.window.stretches.size(); ++k) {
    const Shape shape{op.window.stretches[k].count};
    const auto flat = [&](DType t) { return Type{t, shape, whole(1)}; };
    const Type weights = flat(context.ins[4 + 2 * k].dtype), main = copy ? flat(op.window.types[0]) : weights;
    KernelContext one{context.mesh, context.coord, {main, flat(context.ins[3 + 2 * k].dtype)}, {main}};
    for (int s = 0; s < states; ++s) {
      one.ins.push_back(flat(op.window.types[size_t(int(copy) + s)]));
      one.outs.push_back(one.ins.back());
    }
    one.ins.push_back(context.ins[1]), one.ins.push_back(context.ins[2]);
    if (copy) one.ins.push_back(weights), one.outs.push_back(weights);
    each.push_back(prepare(Update{op.rule, 1, op.decay, copy}, one));
  }
  const i64 of_gradient = size_of(context.ins[3].dtype), of_weights = size_of(context.ins[4].dtype);
  return {0, [op, each, of_gradient, of_weights, states, copy](const Args& a) {
            for (size_t k = 0; k < each.size(); ++k) {
              const i64 begin = op.window.stretches[k].begin;
              const auto state = [&](int s) { return a.outs[0] + op.window.place(k, s); };
              std::byte* weights = a.outs[1 + k] + begin * of_weights;
              std::vector<std::byte*> ins = {copy ? state(0) : weights, a.ins[3 + 2 * k] + begin * of_gradient};
              std::vector<std::byte*> outs = {ins[0]};
              for (int s = 0; s < states; ++s) ins.push_back(state(int(copy) + s)), outs.push_back(ins.back());
              ins.insert(ins.end(), {a.ins[1], a.ins[2], weights}), outs.push_back(weights);
              each[k].run({ins, outs, nullptr, a.first_micro_batch});
            }
          }};
}

}  // namespace megalith::cpu
