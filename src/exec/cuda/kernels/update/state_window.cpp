// Kernels of windows of state. The copy engines copy between pinned host memory and the device. One launch updates all
// stretches of a window.
#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/update/optimizer.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

// f(leaf, byte of the stretch in the leaf, byte in the window, bytes) for each leaf.
template <class F>
static void for_leaves(const Window& w, F&& f) {
  for (size_t k = 0; k < w.stretches.size(); ++k)
    for (int s = 0; s < w.states(); ++s) {
      const i64 element = size_of(w.types[size_t(s)]);
      f(k * size_t(w.states()) + size_t(s), w.stretches[k].begin * element, w.place(k, s),
        w.stretches[k].count * element);
    }
}

Kernel prepare(const FetchState& op, const KernelContext&) {
  return {0, [op](const Args& a) {
            for_leaves(op.window, [&](size_t leaf, i64 from, i64 to, i64 bytes) {
              check_cuda(
                  cudaMemcpyAsync(a.outs[0] + to, a.ins[leaf] + from, size_t(bytes), cudaMemcpyDefault, a.stream),
                  "[fetch_state] copying from the host");
            });
          }};
}

Kernel prepare(const StoreState& op, const KernelContext&) {
  return {0, [op](const Args& a) {
            for_leaves(op.window, [&](size_t leaf, i64 to, i64 from, i64 bytes) {
              check_cuda(
                  cudaMemcpyAsync(a.ins[1 + leaf] + to, a.ins[0] + from, size_t(bytes), cudaMemcpyDefault, a.stream),
                  "[store_state] copying to the host");
            });
          }};
}

Kernel prepare(const WindowUpdate& op, const KernelContext& context) {
  const DType gradient = context.ins[3].dtype, weights = context.ins[4].dtype;
  for (size_t i = 5; i < context.ins.size(); ++i)
    check_dtype(op.name, context.ins[i].dtype, {i % 2 ? gradient : weights});
  const std::vector<DType>& kept = op.window.types;
  std::vector<DType> ins = {op.copy() ? kept[0] : weights, gradient};
  ins.insert(ins.end(), kept.begin() + op.copy(), kept.end());
  const UpdateLaunch l{op.rule, update_types(op.name, ins, op.copy() ? std::optional(weights) : std::nullopt)};
  return {0, [l, op, of_gradient = size_of(gradient), of_weights = size_of(weights)](const Args& a) {
            std::vector<UpdateItem> items;
            for (int k = 0; k < int(op.window.stretches.size()); ++k) {
              const auto& [begin, n] = op.window.stretches[size_t(k)];
              const auto state = [&](int s) { return a.outs[0] + op.window.place(size_t(k), s); };
              std::byte* at = a.outs[size_t(1 + k)] + begin * of_weights;
              UpdateItem item{op.copy() ? state(0) : at,
                              a.ins[size_t(3 + 2 * k)] + begin * of_gradient,
                              {},
                              op.copy() ? at : nullptr,
                              n,
                              op.decay};
              for (int s = 0; s < states_of(op.rule); ++s) item.states[s] = state(int(op.copy()) + s);
              items.push_back(item);
            }
            launch(l, items, {a.in<double>(1), a.in<double>(2)}, a.stream);
          }};
}

}  // namespace megalith::cuda
