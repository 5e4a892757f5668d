// One pass over parameters and state, with four elements a thread and no loop. With eight memory streams, short
// blocks use more bandwidth than looping ones: 98% of a copy's, against 92% with 64 elements a thread. Issue slots
// are nearly as scarce as memory. So one thread of a block computes the step's numbers in f64. Square root and
// quotient have one or two instructions, within 1 and 2 ulp. The code says explicitly where a multiplication and an
// addition are fused. So an element's bits do not depend on the number of elements a thread has.
#include "exec/cuda/kernels/update/optimizer.h"

#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/update/split_float.cuh"
#include "exec/cuda/kernels/update/tensor_list.cuh"

namespace megalith::cuda {

constexpr int kThreads = 128, N = 4;
constexpr i64 kChunk = kThreads * N;  // elements that a block updates

struct Arithmetic {
  using Number = float;
  static __device__ float fma(float a, float b, float c) { return fmaf(a, b, c); }
  static __device__ float products(float a, float b, float c, float d) { return fmaf(a, b, c * d); }
  static __device__ float over(float a, float b) { return __fdividef(a, b); }
  static __device__ float root(float x) { return sqrt_fast(x); }
};

template <class Rule>
using StepOf = typename Rule::template Step<Arithmetic>;

// Which tensors of a launch have two bytes an element.
struct Narrow {
  bool g, states[kMostStates];
};

// Elements [i, i + K) in memory: f32; with kMixed f32 or H.
template <class H, bool kMixed, int K>
struct Lying {
  Pack<float, K> wide;
  Pack<H, K> half;

  __device__ void load(const void* from, i64 i, bool narrow) {
    if (kMixed && narrow)
      half = load_pack<K>(static_cast<const H*>(from) + i);
    else
      wide = load_pack<K>(static_cast<const float*>(from) + i);
  }
  __device__ Numbers<float, K> numbers(bool narrow) const {
    if (kMixed && narrow) return unpack<float>(half);
    return unpack<float>(wide);
  }
  static __device__ void store(void* to, i64 i, const Numbers<float, K>& v, bool narrow) {
    if (kMixed && narrow)
      store_pack(static_cast<H*>(to) + i, v);
    else
      store_pack(static_cast<float*>(to) + i, v);
  }
};

// Elements [i, i + K) of an update's tensors. C: type of the copy. Gradients and states of two bytes an element are
// f16 if the copy is f16, else bf16.
template <class Rule, class C, bool kSplit, bool kMixed, int K>
struct State {
  static constexpr int kStates = Rule::kStates;
  static_assert(kStates <= kMostStates);
  using W = std::conditional_t<kSplit, u16, float>;
  Pack<W, K> w;
  Pack<C, K> copy;  // read with kSplit
  using H = std::conditional_t<std::is_same_v<C, __half>, __half, __nv_bfloat16>;
  Lying<H, kMixed, K> g, states[kMostStates];

  __device__ void load(const UpdateItem& t, const Narrow& narrow, i64 i) {
    const bool reads_g = !t.marks || t.marks[i / t.width];
    w = load_pack<K>(static_cast<const W*>(t.w) + i);
    if constexpr (kSplit) copy = load_pack<K>(static_cast<const C*>(t.copy) + i);
#pragma unroll
    for (int s = 0; s < kStates; ++s) states[s].load(t.states[s], i, narrow.states[s]);
    if (reads_g)
      g.load(t.g, i, narrow.g);
    else
      g = {};
  }
  __device__ void update(const StepOf<Rule>& step, const UpdateItem& t, const Narrow& narrow, i64 i) const {
    Numbers<float, K> new_w, new_states[kMostStates];
    if constexpr (kSplit)
      new_w = joined(copy, w);
    else
      new_w = unpack<float>(w);
#pragma unroll
    for (int s = 0; s < kStates; ++s) new_states[s] = states[s].numbers(narrow.states[s]);
    const Numbers<float, K> gradient = g.numbers(narrow.g);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      float state[kMostStates];
#pragma unroll
      for (int s = 0; s < kStates; ++s) state[s] = new_states[s].x[k];
      step(new_w.x[k], gradient.x[k], state);
#pragma unroll
      for (int s = 0; s < kStates; ++s) new_states[s].x[k] = state[s];
    }
    if constexpr (kSplit)
      put_pack(static_cast<u16*>(t.w) + i, pack_rest(new_w));
    else
      store_pack(static_cast<float*>(t.w) + i, new_w);
#pragma unroll
    for (int s = 0; s < kStates; ++s) states[s].store(t.states[s], i, new_states[s], narrow.states[s]);
    if (kSplit || t.copy) put_pack(static_cast<C*>(t.copy) + i, pack_near<C>(new_w));
  }
};

// A thread's data load while the step's numbers are computed.
template <class Rule, class C, bool kSplit, bool kMixed, int kMost>
static __global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ TensorList<UpdateItem, kMost> list, const __grid_constant__ Rule rule,
                  UpdateNumbers numbers, Narrow narrow) {
  __shared__ StepOf<Rule> shared;
  __shared__ bool counts;
  const Chunk c = find_chunk(list, blockIdx.x, kChunk);
  const UpdateItem& t = list.items[c.tensor];
  const i64 i = c.begin + threadIdx.x * N;
  const bool together = i + N <= c.end && (!t.marks || t.width % N == 0);
  State<Rule, C, kSplit, kMixed, N> four;
  if (together) four.load(t, narrow, i);
  if (threadIdx.x == 0) {
    const double* h = numbers.step_scalars_in;
    const double decay = t.decay ? h[kWeightDecayAt] : 0;
    shared = StepOf<Rule>(rule, StepNumbers{numbers.scalars[kFactorAt], h[kLrAt], decay, h + kOwnAt});
    counts = numbers.scalars[kCountsAt] != 0;
  }
  __syncthreads();
  if (!counts) return;
  const StepOf<Rule> step = shared;
  if (together) return four.update(step, t, narrow, i);
#pragma unroll 1
  for (i64 at = i; at < min(i + N, c.end); ++at) {
    State<Rule, C, kSplit, kMixed, 1> one;
    one.load(t, narrow, at);
    one.update(step, t, narrow, at);
  }
}

template <class Rule, class C, bool kSplit, bool kMixed>
static void launch_typed(const UpdateLaunch& l, const Rule& rule, std::span<const UpdateItem> items,
                         const UpdateNumbers& numbers, cudaStream_t stream) {
  const auto is = [](DType t) { return t != DType::f32; };
  const Narrow narrow{is(l.types.g), {is(l.types.states[0]), is(l.types.states[1])}};
  for_lists(items, kChunk, [&]<int kMost>(const TensorList<UpdateItem, kMost>& list, int blocks) {
    update_kernel<Rule, C, kSplit, kMixed, kMost><<<blocks, kThreads, 0, stream>>>(list, rule, numbers, narrow);
  });
}

template <bool kMixed>
static void launch_by_rule(const UpdateLaunch& l, std::span<const UpdateItem> items, const UpdateNumbers& numbers,
                           cudaStream_t stream) {
  std::visit(
      [&]<class Rule>(const Rule& rule) {
        if (l.types.split) return launch_typed<Rule, __nv_bfloat16, true, kMixed>(l, rule, items, numbers, stream);
        dispatch_activation(l.types.copy,
                            [&]<class C>() { launch_typed<Rule, C, false, kMixed>(l, rule, items, numbers, stream); });
      },
      l.rule);
}

void launch(const UpdateLaunch& l, std::span<const UpdateItem> items, UpdateNumbers numbers, cudaStream_t stream) {
  if (l.types.all_f32())
    launch_by_rule<false>(l, items, numbers, stream);
  else
    launch_by_rule<true>(l, items, numbers, stream);
  check_launch("[update] launch");
}

}  // namespace megalith::cuda
