// A thread for each amax, and for each of a layer's three tensors.
#include "exec/cuda/kernels/quantize/delayed_scale.h"

#include "exec/cuda/launch.cuh"
#include "quant/cast.h"
#include "quant/scale.h"

namespace megalith::cuda {
namespace {

constexpr int kTensors = 3, kMost = 128;  // amaxes of a launch

struct SeenList {
  int n;
  SeenAmax at[kMost];
};

// amax is never below 0. Such numbers have the order of their bits, so the order of threads does not matter.
__global__ void collect_kernel(const __grid_constant__ SeenList list, u32* seen) {
  const int i = threadIdx.x;
  if (i < list.n) atomicMax(seen + list.at[i].place, __float_as_uint(*list.at[i].amax));
}

struct CastList {
  int n;
  CountedCast at[kMost];
};

// The thread of a row's first cast adds the counts of all casts of the row, in order.
__global__ void collect_counts_kernel(const __grid_constant__ CastList list, double* seen) {
  const int own = threadIdx.x;
  if (own >= list.n) return;
  const int place = list.at[own].place;
  for (int i = 0; i < own; ++i)
    if (list.at[i].place == place) return;
  double* to = seen + i64(place) * 3;
  for (int i = own; i < list.n; ++i)
    if (const CountedCast& c = list.at[i]; c.place == place)
      to[0] += double(c.counts[0]), to[1] += double(c.counts[1]), to[2] += double(c.elements);
}

constexpr int kMostLayers = 256;  // of a launch
struct StateList {
  float* at[kMostLayers];
};

// The same as quant::update_delayed for one tensor, a column of the state. A block for each layer.
__global__ void delayed_kernel(DelayedLaunch l, const __grid_constant__ StateList states, const float* seen,
                               const double* counts) {
  const int t = threadIdx.x;
  float* state = states.at[blockIdx.x];
  const float latest = seen[blockIdx.x * kTensors + t];
  if (*counts == 0 || latest == 0) return;
  float* history = state + kTensors + t;
  float window = latest;
  for (i64 s = 1; s < l.slots; ++s) {
    const float old = history[s * kTensors];
    window = quant::larger(window, old);
    history[(s - 1) * kTensors] = old;
  }
  history[(l.slots - 1) * kTensors] = latest;
  history[0] = 0;
  const float top = l.wide_gradients && t == 2 ? 57344.0f : 448.0f;
  state[t] = quant::delayed_scale(l.largest ? window : latest, state[t], top, l.margin);
}

}  // namespace

void launch_collect_amax(std::span<const SeenAmax> amaxes, bool starts, float* seen, i64 n, cudaStream_t stream) {
  if (starts) check_cuda(cudaMemsetAsync(seen, 0, size_t(n) * sizeof(float), stream), "[collect_amax] start");
  for (size_t done = 0; done < amaxes.size(); done += kMost) {
    SeenList list{};
    for (const SeenAmax& a : amaxes.subspan(done, std::min<size_t>(kMost, amaxes.size() - done))) list.at[list.n++] = a;
    collect_kernel<<<1, kMost, 0, stream>>>(list, reinterpret_cast<u32*>(seen));
  }
  check_launch("[collect_amax] launch");
}

void launch_collect_counts(std::span<const CountedCast> casts, bool starts, double* seen, i64 rows,
                           cudaStream_t stream) {
  if (starts) check_cuda(cudaMemsetAsync(seen, 0, size_t(rows) * 3 * sizeof(double), stream), "[collect_counts] start");
  for (size_t done = 0; done < casts.size(); done += kMost) {
    CastList list{};
    for (const CountedCast& c : casts.subspan(done, std::min<size_t>(kMost, casts.size() - done)))
      list.at[list.n++] = c;
    collect_counts_kernel<<<1, kMost, 0, stream>>>(list, seen);
  }
  check_launch("[collect_counts] launch");
}

void launch(const DelayedLaunch& l, std::span<float* const> states, const float* seen, const double* counts,
            cudaStream_t stream) {
  for (size_t done = 0; done < states.size(); done += kMostLayers) {
    const size_t n = std::min<size_t>(kMostLayers, states.size() - done);
    StateList list{};
    for (size_t i = 0; i < n; ++i) list.at[i] = states[done + i];
    delayed_kernel<<<unsigned(n), kTensors, 0, stream>>>(l, list, seen + done * kTensors, counts);
  }
  check_launch("[delayed_scale] launch");
}

}  // namespace megalith::cuda
