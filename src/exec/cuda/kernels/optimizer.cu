// One pass over parameters and state, four elements a thread and no loop: with eight streams to and from memory, blocks
// that end at once keep it busier than blocks that go round (98% of a copy's bandwidth, against 92% with 64 elements a
// thread).
#include "exec/cuda/kernels/optimizer.h"

#include "exec/cuda/kernels/split_float.cuh"
#include "exec/cuda/kernels/tensor_list.cuh"

namespace megalith::cuda {

constexpr int kThreads = 256, N = 4;
constexpr i64 kChunk = kThreads * N;  // elements that a block updates

struct AdamWStep {
  using Launch = AdamWLaunch;
  static constexpr bool kHasV = true;
  float factor, keep, beta1, beta2, rest1, rest2, rate, root, eps;  // w *= keep; rate = lr / c1; root = 1 / sqrt(c2)

  __device__ AdamWStep(const AdamWLaunch& l, const UpdateNumbers& u, bool decay)
      : factor(float(u.scalars[kFactorAt])),
        keep(float(1 - u.hyper[kLrAt] * (decay ? u.hyper[kWeightDecayAt] : 0))),
        beta1(float(l.beta1)),
        beta2(float(l.beta2)),
        rest1(float(1 - l.beta1)),
        rest2(float(1 - l.beta2)),
        rate(float(u.hyper[kLrAt] / u.hyper[kCorrection1At])),
        root(float(1 / sqrt(u.hyper[kCorrection2At]))),
        eps(float(l.eps)) {}

  __device__ void operator()(float& w, float g, float& m, float& v) const {
    g *= factor;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    w = w * keep - rate * m / (sqrtf(v) * root + eps);
  }
};

struct SgdStep {
  using Launch = SgdLaunch;
  static constexpr bool kHasV = false;
  float factor, decay, momentum, rate;

  __device__ SgdStep(const SgdLaunch& l, const UpdateNumbers& u, bool decays)
      : factor(float(u.scalars[kFactorAt])),
        decay(float(decays ? u.hyper[kWeightDecayAt] : 0)),
        momentum(float(l.momentum)),
        rate(float(u.hyper[kLrAt])) {}

  __device__ void operator()(float& w, float g, float& m, float&) const {
    m = momentum * m + (g * factor + decay * w);
    w -= rate * m;
  }
};

// Elements [i, i + K) of a tensor. C: of the copy.
template <class Step, class C, bool kSplit, int K>
struct State {
  Numbers<float, K> w, g, m, v;

  __device__ void load(const UpdateItem& t, i64 i) {
    if constexpr (kSplit)
      w = joined(load_pack<K>(static_cast<const C*>(t.copy) + i), load_pack<K>(static_cast<const u16*>(t.w) + i));
    else
      w = unpack<float>(load_pack<K>(static_cast<const float*>(t.w) + i));
    g = unpack<float>(load_pack<K>(t.g + i));
    m = unpack<float>(load_pack<K>(t.m + i));
    if constexpr (Step::kHasV) v = unpack<float>(load_pack<K>(t.v + i));
  }
  __device__ void update(const Step& step, const UpdateItem& t, i64 i) {
#pragma unroll
    for (int k = 0; k < K; ++k) step(w.x[k], g.x[k], m.x[k], v.x[k]);
    if constexpr (kSplit)
      put_pack(static_cast<u16*>(t.w) + i, pack_rest(w));
    else
      store_pack(static_cast<float*>(t.w) + i, w);
    store_pack(t.m + i, m);
    if constexpr (Step::kHasV) store_pack(t.v + i, v);
    if (kSplit || t.copy) put_pack(static_cast<C*>(t.copy) + i, pack_near<C>(w));
  }
};

template <class Step, class C, bool kSplit, int kMost>
static __global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ TensorList<UpdateItem, kMost> list,
                  const __grid_constant__ typename Step::Launch launch, UpdateNumbers numbers) {
  if (numbers.scalars[kCountsAt] == 0) return;
  const Chunk c = find_chunk(list, blockIdx.x, kChunk);
  const UpdateItem& t = list.items[c.tensor];
  const Step step(launch, numbers, t.decay);
  const i64 i = c.begin + threadIdx.x * N;
  if (i + N <= c.end) {
    State<Step, C, kSplit, N> four;
    four.load(t, i);
    four.update(step, t, i);
    return;
  }
  for (i64 rest = i; rest < c.end; ++rest) {
    State<Step, C, kSplit, 1> one;
    one.load(t, rest);
    one.update(step, t, rest);
  }
}

template <class Step, class C, bool kSplit>
static void launch_typed(const typename Step::Launch& l, std::span<const UpdateItem> items,
                         const UpdateNumbers& numbers, cudaStream_t stream) {
  for_lists(items, kChunk, [&]<int kMost>(const TensorList<UpdateItem, kMost>& list, int blocks) {
    update_kernel<Step, C, kSplit, kMost><<<blocks, kThreads, 0, stream>>>(list, l, numbers);
  });
}

template <class Step>
static void launch_update(const typename Step::Launch& l, std::span<const UpdateItem> items,
                          const UpdateNumbers& numbers, cudaStream_t stream) {
  if (l.weights.split) return launch_typed<Step, __nv_bfloat16, true>(l, items, numbers, stream);
  dispatch_activation(l.weights.copy, [&]<class C>() { launch_typed<Step, C, false>(l, items, numbers, stream); });
}

void launch(const AdamWLaunch& l, std::span<const UpdateItem> items, UpdateNumbers numbers, cudaStream_t stream) {
  launch_update<AdamWStep>(l, items, numbers, stream);
  check_launch("[adamw] launch");
}

void launch(const SgdLaunch& l, std::span<const UpdateItem> items, UpdateNumbers numbers, cudaStream_t stream) {
  launch_update<SgdStep>(l, items, numbers, stream);
  check_launch("[sgd] launch");
}

}  // namespace megalith::cuda
