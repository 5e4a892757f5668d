// One pass over parameters and state, four elements a thread and no loop: with eight streams to and from memory, blocks
// that end at once keep it busier than blocks that go round (98% of a copy's bandwidth, against 92% with 64 elements a
// thread). Issue slots are nearly as short as memory: so one thread of a block makes the step's numbers, in f64, and
// the root and the quotient are those of one or two instructions, within 1 and 2 ulp. Where multiplications and
// additions are one is said here, so that an element's bits do not depend on how many a thread has.
#include "exec/cuda/kernels/update/optimizer.h"

#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/update/split_float.cuh"
#include "exec/cuda/kernels/update/tensor_list.cuh"

namespace megalith::cuda {

constexpr int kThreads = 128, N = 4;
constexpr i64 kChunk = kThreads * N;  // elements that a block updates

struct AdamWStep {
  using Launch = AdamWLaunch;
  static constexpr bool kHasV = true;
  float factor, keep, beta1, beta2, rest1, rest2, rate, root, eps;  // w *= keep; rate = lr / c1; root = 1 / sqrt(c2)

  AdamWStep() = default;
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
    m = fmaf(beta1, m, rest1 * g);
    v = fmaf(beta2, v, rest2 * g * g);
    w = fmaf(w, keep, -__fdividef(rate * m, fmaf(sqrt_fast(v), root, eps)));
  }
};

struct SgdStep {
  using Launch = SgdLaunch;
  static constexpr bool kHasV = false;
  float factor, decay, momentum, rate;

  SgdStep() = default;
  __device__ SgdStep(const SgdLaunch& l, const UpdateNumbers& u, bool decays)
      : factor(float(u.scalars[kFactorAt])),
        decay(float(decays ? u.hyper[kWeightDecayAt] : 0)),
        momentum(float(l.momentum)),
        rate(float(u.hyper[kLrAt])) {}

  __device__ void operator()(float& w, float g, float& m, float&) const {
    m = fmaf(momentum, m, fmaf(g, factor, decay * w));
    w = fmaf(-rate, m, w);
  }
};

// Elements [i, i + K) of a tensor, as they lie in memory. C: of the copy.
template <class Step, class C, bool kSplit, int K>
struct State {
  using W = std::conditional_t<kSplit, u16, float>;
  Pack<W, K> w;
  Pack<C, K> copy;  // read with kSplit
  Pack<float, K> g, m, v;

  __device__ void load(const UpdateItem& t, i64 i) {
    const bool reads_g = !t.marks || t.marks[i / t.width];
    w = load_pack<K>(static_cast<const W*>(t.w) + i);
    if constexpr (kSplit) copy = load_pack<K>(static_cast<const C*>(t.copy) + i);
    m = load_pack<K>(t.m + i);
    if constexpr (Step::kHasV) v = load_pack<K>(t.v + i);
    if (reads_g)
      g = load_pack<K>(t.g + i);
    else
      g = {};
  }
  __device__ void update(const Step& step, const UpdateItem& t, i64 i) const {
    Numbers<float, K> new_w, new_m = unpack<float>(m), new_v;
    if constexpr (kSplit)
      new_w = joined(copy, w);
    else
      new_w = unpack<float>(w);
    if constexpr (Step::kHasV) new_v = unpack<float>(v);
    const Numbers<float, K> gradient = unpack<float>(g);
#pragma unroll
    for (int k = 0; k < K; ++k) step(new_w.x[k], gradient.x[k], new_m.x[k], new_v.x[k]);
    if constexpr (kSplit)
      put_pack(static_cast<u16*>(t.w) + i, pack_rest(new_w));
    else
      store_pack(static_cast<float*>(t.w) + i, new_w);
    store_pack(t.m + i, new_m);
    if constexpr (Step::kHasV) store_pack(t.v + i, new_v);
    if (kSplit || t.copy) put_pack(static_cast<C*>(t.copy) + i, pack_near<C>(new_w));
  }
};

// What a thread updates is on its way while the step's numbers are made.
template <class Step, class C, bool kSplit, int kMost>
static __global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ TensorList<UpdateItem, kMost> list,
                  const __grid_constant__ typename Step::Launch launch, UpdateNumbers numbers) {
  __shared__ Step shared;
  __shared__ bool counts;
  const Chunk c = find_chunk(list, blockIdx.x, kChunk);
  const UpdateItem& t = list.items[c.tensor];
  const i64 i = c.begin + threadIdx.x * N;
  const bool together = i + N <= c.end && (!t.marks || t.width % N == 0);
  State<Step, C, kSplit, N> four;
  if (together) four.load(t, i);
  if (threadIdx.x == 0) shared = Step(launch, numbers, t.decay), counts = numbers.scalars[kCountsAt] != 0;
  __syncthreads();
  if (!counts) return;
  const Step step = shared;
  if (together) return four.update(step, t, i);
#pragma unroll 1
  for (i64 at = i; at < min(i + N, c.end); ++at) {
    State<Step, C, kSplit, 1> one;
    one.load(t, at);
    one.update(step, t, at);
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
