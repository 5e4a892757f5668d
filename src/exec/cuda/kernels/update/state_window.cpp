// Kernels of state in windows: copies between the host's pinned memory and the device's, by the copy engines; and the
// update of all stretches of a window in one launch.
#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/update/optimizer.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

// f(leaf, where the stretch is in it, where in the window, bytes) for each leaf.
template <class F>
static void for_leaves(const Window& w, F&& f) {
  constexpr i64 kElement = sizeof(float);
  for (size_t k = 0; k < w.stretches.size(); ++k)
    for (int s = 0; s < w.states; ++s)
      f(k * size_t(w.states) + size_t(s), w.stretches[k].begin * kElement, w.place(k, s) * kElement,
        w.stretches[k].count * kElement);
}

Kernel prepare(const FetchState& op, const Site& site) {
  check_dtype(op.name, site.outs[0].dtype, {DType::f32});
  return {0, [op](const Args& a) {
            for_leaves(op.window, [&](size_t leaf, i64 from, i64 to, i64 bytes) {
              check_cuda(
                  cudaMemcpyAsync(a.outs[0] + to, a.ins[leaf] + from, size_t(bytes), cudaMemcpyDefault, a.stream),
                  "[fetch_state] copying from the host");
            });
          }};
}

Kernel prepare(const StoreState& op, const Site& site) {
  check_dtype(op.name, site.ins[0].dtype, {DType::f32});
  return {0, [op](const Args& a) {
            for_leaves(op.window, [&](size_t leaf, i64 to, i64 from, i64 bytes) {
              check_cuda(
                  cudaMemcpyAsync(a.ins[1 + leaf] + to, a.ins[0] + from, size_t(bytes), cudaMemcpyDefault, a.stream),
                  "[store_state] copying to the host");
            });
          }};
}

Kernel prepare(const WindowUpdate& op, const Site& site) {
  for (size_t i = 0; i < site.ins.size(); i += i == 0 ? 3 : 2) check_dtype(op.name, site.ins[i].dtype, {DType::f32});
  const DType weights = site.ins[4].dtype;
  for (size_t i = 4; i < site.ins.size(); i += 2) check_dtype(op.name, site.ins[i].dtype, {weights});
  check_activation(op.name, weights);
  const UpdateLaunch l{op.rule, {.copy = op.copy() ? weights : DType::bf16}};
  return {0, [l, op, narrow = size_of(weights)](const Args& a) {
            std::vector<UpdateItem> items;
            for (int k = 0; k < int(op.window.stretches.size()); ++k) {
              const auto& [begin, n] = op.window.stretches[size_t(k)];
              const auto state = [&](int s) { return a.out<float>(0) + op.window.place(size_t(k), s); };
              std::byte* at = a.outs[size_t(1 + k)] + begin * narrow;
              UpdateItem item{op.copy() ? static_cast<void*>(state(0)) : at,
                              a.in<float>(3 + 2 * k) + begin,
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
