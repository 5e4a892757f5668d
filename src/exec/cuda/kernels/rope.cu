// A block has one position, or several if their rows are few. It computes their cosines and sines in shared memory,
// and rotates all heads by them. If positions are the indices, it rotates the whole batch. The angle is computed in
// f64, in half turns, and reduced to one turn. So f32 has it to half a unit in the last place at any position.
#include "exec/cuda/kernels/rope.h"

#include <algorithm>

#include "exec/cuda/kernels/magnitude.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kBatch = 2;   // pieces in flight a thread
constexpr i64 kBlockBytes = i64{32} << 10;  // of x, about
constexpr int kMostPlaces = 16;             // a block

struct RopeArgs {
  RopeLaunch l;
  const void* x;
  const i32* positions;
  void* y;
  u32* amax;       // of y, in an f32's bits; null: not wanted
  i64 places;      // number of positions: s, or s b with positions as input
  int batches;     // that share a position: b, or 1
  int heads;       // of the loop: all, or those that rotate if in place and no amax is wanted
  int each, most;  // positions a block, batches of them
  int pieces,
      along;  // of a row of d: N elements of each half that rotate together, or N that are copied; threads for them
};

// The cosines of the block's positions [places][half], then the sines.
__device__ inline void make_turns(const RopeArgs& a, i64 first, int places, float* turns) {
  const int half = a.l.half, n = places * half;
  for (int j = threadIdx.x; j < n; j += kThreads) {
    const i64 place = first + j / half;
    const double position = a.l.by_input ? double(a.positions[place]) : double(a.l.index[place]);
    double angle = position * a.l.half_turns[j % half];
    angle -= 2 * rint(angle / 2);
    float sine, cosine;
    sincospif(float(angle), &sine, &cosine);
    turns[j] = cosine * a.l.amplitude;
    turns[a.each * half + j] = sine * (a.l.amplitude * float(a.l.sign));
  }
}

// A thread's loop over a block's rows: always the same piece of a row, over heads, batches and positions.
class RopeWalk {
 public:
  __device__ RopeWalk(const RopeArgs& a, int batches)
      : heads_(a.heads),
        batches_(batches),
        piece_(threadIdx.x % a.along),
        at_(split(threadIdx.x / a.along)),
        step_(split(kThreads / a.along)) {}

  struct At {
    int head, batch, place;
  };
  __device__ const At& at() const { return at_; }
  __device__ int piece() const { return piece_; }
  __device__ void next() {
    at_.head += step_.head, at_.batch += step_.batch, at_.place += step_.place;
    if (at_.head >= heads_) at_.head -= heads_, ++at_.batch;
    if (at_.batch >= batches_) at_.batch -= batches_, ++at_.place;
  }

 private:
  __device__ At split(int row) const { return {row % heads_, row / heads_ % batches_, row / heads_ / batches_}; }
  int heads_, batches_, piece_;
  At at_, step_;
};

template <class T, int N>
struct RopePiece {
  Pack<T, N> low, high;
  i64 at = -1;         // of its first element; -1: none
  int place = 0;       // of the block's
  bool turns = false;  // otherwise low is copied, and high if it exists
};

// The block's first element.
struct RopeStart {
  i64 place;
  int places, batch, batches;
};

template <class T, int N>
__device__ inline RopePiece<T, N> load_piece(const RopeArgs& a, const RopeStart& start, RopeWalk& walk) {
  const int turning = a.l.half / N;
  const RopeWalk::At at = walk.at();
  RopePiece<T, N> p;
  if (at.place >= start.places || walk.piece() >= a.pieces) return p;
  const i64 row = ((start.place + at.place) * a.batches + start.batch + at.batch) * a.l.heads + at.head;
  const bool both = walk.piece() < turning;
  const T* x = static_cast<const T*>(a.x);
  p.at = row * a.l.d + (both ? walk.piece() * N : 2 * a.l.half + (walk.piece() - turning) * N);
  p.place = at.place, p.turns = both && at.head < a.l.turned;
  p.low = load_pack<N>(x + p.at);
  if (both) p.high = load_pack<N>(x + p.at + a.l.half);
  walk.next();
  return p;
}

// most: raised to the largest |y|, in pairs.
template <bool kAmax, class T, int N>
__device__ inline void store_piece(const RopeArgs& a, const float* turns, int piece, const RopePiece<T, N>& p,
                                   u32& most) {
  if (p.at < 0) return;
  T* y = static_cast<T*>(a.y) + p.at;
  if (!p.turns) {
    const bool both = piece < a.l.half / N;
    if constexpr (kAmax) most = larger_bits(both ? larger_bits(most, p.high) : most, p.low);
    if (kAmax && a.x == a.y) return;
    put_pack(y, p.low);
    if (both) put_pack(y + a.l.half, p.high);
    return;
  }
  float cosine[N], sine[N], u[N], v[N], low[N], high[N];
  const float* own = turns + p.place * a.l.half + piece * N;
  unpack(load_pack<N>(own), cosine), unpack(load_pack<N>(own + a.each * a.l.half), sine);
  unpack(p.low, u), unpack(p.high, v);
#pragma unroll
  for (int e = 0; e < N; ++e) {
    low[e] = u[e] * cosine[e] - v[e] * sine[e];
    high[e] = v[e] * cosine[e] + u[e] * sine[e];
  }
  const Pack<T, N> first = packed<T>(low), second = packed<T>(high);
  put_pack(y, first), put_pack(y + a.l.half, second);
  if constexpr (kAmax) most = larger_bits(larger_bits(most, first), second);
}

template <class T, int N, bool kAmax>
__global__ void __launch_bounds__(kThreads, 4) rope_kernel(const __grid_constant__ RopeArgs a) {
  extern __shared__ __align__(16) float turns[];
  RopeStart start{i64(blockIdx.x) * a.each, 0, int(blockIdx.y) * a.most, 0};
  start.places = int(min(i64(a.each), a.places - start.place)), start.batches = min(a.most, a.batches - start.batch);
  RopeWalk walk(a, start.batches);
  RopePiece<T, N> batch[kBatch];
  const auto load = [&] {
#pragma unroll
    for (RopePiece<T, N>& p : batch) p = load_piece<T, N>(a, start, walk);
  };
  load();  // loads meanwhile
  make_turns(a, start.place, start.places, turns);
  __syncthreads();
  u32 most = 0;
  for (; batch[0].at >= 0; load())
#pragma unroll
    for (const RopePiece<T, N>& p : batch) store_piece<kAmax>(a, turns, walk.piece(), p, most);
  if constexpr (kAmax) raise_amax<kThreads>(a.amax, bits_of_f32<T>(most));
}

// With pairs of neighbours a block has one position. Its threads loop over the pairs of all heads and batches. Elements
// without rotation are copied two at a time, only if the output is another tensor: dims before the pairs, then those
// after.
template <class T>
__global__ void __launch_bounds__(kThreads) neighbours_kernel(const __grid_constant__ RopeArgs a) {
  extern __shared__ __align__(16) float turns[];
  const i64 place = blockIdx.x;
  make_turns(a, place, 1, turns);
  __syncthreads();
  const int half = a.l.half, end = a.l.first + 2 * half, before = (a.l.first + 1) / 2;
  const int pairs = half + (a.x == a.y ? 0 : before + (a.l.d - end + 1) / 2);
  const i64 all = i64(a.batches) * a.heads * pairs;
  for (i64 j = threadIdx.x; j < all; j += kThreads) {
    const int pair = int(j % pairs), head = int(j / pairs % a.heads), passing = pair - half;
    const i64 row = (place * a.batches + j / pairs / a.heads) * a.l.heads + head;
    const bool turns_here = passing < 0;
    const int dim = turns_here ? a.l.first + 2 * pair : passing < before ? 2 * passing : end + 2 * (passing - before);
    const bool both = dim + 1 < (turns_here || passing >= before ? a.l.d : a.l.first);
    const T* x = static_cast<const T*>(a.x) + row * a.l.d + dim;
    T* y = static_cast<T*>(a.y) + row * a.l.d + dim;
    if (turns_here && head < a.l.turned) {
      const float u = convert<float>(x[0]), v = convert<float>(x[1]);
      const float cosine = turns[pair], sine = turns[half + pair];
      y[0] = convert<T>(u * cosine - v * sine), y[1] = convert<T>(v * cosine + u * sine);
    } else {
      y[0] = x[0];
      if (both) y[1] = x[1];
    }
  }
}

template <class T>
void launch_neighbours(const RopeArgs& a, cudaStream_t stream) {
  const size_t shared = size_t(a.l.half) * 2 * sizeof(float);
  neighbours_kernel<T><<<unsigned(a.places), kThreads, shared, stream>>>(a);
}

template <class T, int N>
void launch_sized(RopeArgs a, cudaStream_t stream) {
  const i64 batch = i64(a.heads) * a.l.d * i64(sizeof(T));  // bytes
  a.each = int(std::clamp<i64>(kBlockBytes / (batch * a.batches), 1, kMostPlaces));
  a.most = int(std::clamp<i64>(kBlockBytes / batch, 1, a.batches));
  a.pieces = a.l.half / N + (a.x == a.y && !a.amax ? 0 : (a.l.d - 2 * a.l.half) / N);
  if (a.pieces == 0) return;
  while (a.along < a.pieces) a.along *= 2;
  const dim3 grid(unsigned(blocks_for(a.places, a.each)), unsigned(blocks_for(a.batches, a.most)));
  const size_t shared = size_t(a.each) * size_t(a.l.half) * 2 * sizeof(float);
  const auto kernel = a.amax ? rope_kernel<T, N, true> : rope_kernel<T, N, false>;
  kernel<<<grid, kThreads, shared, stream>>>(a);
}

}  // namespace

void launch(const RopeLaunch& l, const void* x, const i32* positions, void* y, float* amax, cudaStream_t stream) {
  if (amax) check_cuda(cudaMemsetAsync(amax, 0, sizeof(float), stream), "[rope] amax");
  if (l.s * l.b * l.heads * l.d == 0) return;
  const int batches = int(l.by_input ? 1 : l.b), heads = int(x == y && !amax ? l.turned : l.heads);
  const RopeArgs a{l, x, positions, y, reinterpret_cast<u32*>(amax), l.by_input ? l.s * l.b : l.s, batches, heads,
                   1, 1, 0,         1};
  dispatch_activation(l.x, [&]<class T>() {
    constexpr int kSize = 16 / sizeof(T);
    if (l.interleaved)
      launch_neighbours<T>(a, stream);
    else if (l.half % kSize == 0 && l.d % kSize == 0)
      launch_sized<T, kSize>(a, stream);
    else
      launch_sized<T, 1>(a, stream);
  });
  check_launch("[rope] launch");
}

}  // namespace megalith::cuda
