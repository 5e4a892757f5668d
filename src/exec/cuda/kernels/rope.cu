// A block works on one position, or on several if their rows are few: it makes their cosines and sines in shared memory
// and turns all heads (and, where positions are the indices, the whole batch) by them. The angle is made in f64, in
// half turns, and reduced to one turn there, so that f32 has it to half a unit in the last place at any position.
#include "exec/cuda/kernels/rope.h"

#include <algorithm>

#include "exec/cuda/kernels/row_pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kBatch = 2;   // packs in flight a thread, of each half
constexpr i64 kBlockBytes = i64{16} << 10;  // of x, about

struct RopeArgs {
  RopeLaunch l;
  const void* x;
  const i32* positions;
  void* y;
  i64 places;  // s, or s b with positions as input
  int rows;    // of d elements at one place, that the kernel looks at
  int heads;   // of one batch among them: all, or in place those that turn
  int each;    // places a block
  int most;    // rows of a place a block
};

__device__ inline void make_turns(const RopeArgs& a, i64 first, int places, float2* turns) {
  const int half = a.l.half;
  for (int j = threadIdx.x; j < places * half; j += kThreads) {
    const i64 place = first + j / half;
    const double position = a.l.by_input ? double(a.positions[place]) : double(a.l.index[place]);
    double angle = position * a.l.half_turns[j % half];
    angle -= 2 * rint(angle / 2);
    sincospif(float(angle), &turns[j].y, &turns[j].x);
    turns[j].y *= float(a.l.sign);
  }
}

constexpr int kPasses = -1, kBothPass = -2;

// A piece of a row: N elements of each half that turn together, or N that pass.
template <class T, int N>
struct Piece {
  Pack<T, N> low, high;
  i64 at;     // of the first element; -1: none
  int turns;  // where its turns begin; kPasses: only `low` is there, kBothPass: both are, and neither turns
};

// Piece `i` of the block's.
template <class T, int N>
__device__ inline Piece<T, N> load_piece(const RopeArgs& a, i64 first_row, int rows, i64 place, int i, int pieces) {
  const int turning = a.l.half / N, row = i / pieces, piece = i - row * pieces, p = row / rows;
  const T* x = static_cast<const T*>(a.x);
  Piece<T, N> out;
  const int r = first_row + (row - p * rows), head = r % a.heads;
  out.at = (((place + p) * (a.rows / a.heads) + r / a.heads) * a.l.heads + head) * a.l.d;
  out.turns = piece >= turning ? kPasses : head < a.l.turned ? p * a.l.half + piece * N : kBothPass;
  out.at += piece < turning ? piece * N : 2 * a.l.half + (piece - turning) * N;
  out.low = *reinterpret_cast<const Pack<T, N>*>(x + out.at);
  if (piece < turning) out.high = *reinterpret_cast<const Pack<T, N>*>(x + out.at + a.l.half);
  return out;
}

template <class T, int N>
__device__ inline void store_piece(const RopeArgs& a, const float2* turns, const Piece<T, N>& p) {
  T* y = static_cast<T*>(a.y) + p.at;
  if (p.turns < 0) {
    *reinterpret_cast<Pack<T, N>*>(y) = p.low;
    if (p.turns == kBothPass) *reinterpret_cast<Pack<T, N>*>(y + a.l.half) = p.high;
    return;
  }
  Pack<T, N> low, high;
#pragma unroll
  for (int e = 0; e < N; ++e) {
    const float2 t = turns[p.turns + e];
    const float u = widen(p.low.x[e]), v = widen(p.high.x[e]);
    low.x[e] = narrow<T>(u * t.x - v * t.y), high.x[e] = narrow<T>(v * t.x + u * t.y);
  }
  *reinterpret_cast<Pack<T, N>*>(y) = low;
  *reinterpret_cast<Pack<T, N>*>(y + a.l.half) = high;
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads, 4) rope_kernel(const __grid_constant__ RopeArgs a) {
  extern __shared__ __align__(16) float2 turns[];
  const i64 place = i64(blockIdx.x) * a.each;
  const int places = int(min(i64(a.each), a.places - place));
  const int first = int(blockIdx.y) * a.most, rows = min(a.most, a.rows - first);
  make_turns(a, place, places, turns);
  __syncthreads();
  const int pieces = a.l.half / N + (a.x == a.y ? 0 : (a.l.d - 2 * a.l.half) / N), n = places * rows * pieces;
  for (int i = threadIdx.x; i < n; i += kBatch * kThreads) {
    Piece<T, N> batch[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
      if (i + k * kThreads < n) batch[k] = load_piece<T, N>(a, first, rows, place, i + k * kThreads, pieces);
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
      if (i + k * kThreads < n) store_piece(a, turns, batch[k]);
  }
}

}  // namespace

void launch(const RopeLaunch& l, const void* x, const i32* positions, void* y, cudaStream_t stream) {
  const i64 heads = x == y ? l.turned : l.heads;
  RopeArgs a{l, x, positions, y, l.by_input ? l.s * l.b : l.s, int(l.by_input ? heads : heads * l.b), int(heads), 1, 1};
  if (a.places == 0 || a.rows == 0 || l.d == 0) return;
  const i64 row = l.d * size_of(l.x);
  a.each = int(std::clamp<i64>(kBlockBytes / (row * a.rows), 1, 16));
  a.most = int(std::clamp<i64>(2 * kBlockBytes / row, 1, a.rows));
  const dim3 grid(unsigned(blocks_for(a.places, a.each)), unsigned(blocks_for(a.rows, a.most)));
  const size_t shared = size_t(a.each) * size_t(l.half) * sizeof(float2);
  dispatch_activation(l.x, [&]<class T>() {
    constexpr int kSize = Vec<T>::kSize;
    if (l.half % kSize == 0 && l.d % kSize == 0)
      rope_kernel<T, kSize><<<grid, kThreads, shared, stream>>>(a);
    else
      rope_kernel<T, 1><<<grid, kThreads, shared, stream>>>(a);
  });
  check_launch("[rope] launch");
}

}  // namespace megalith::cuda
