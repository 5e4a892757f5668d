// A block works on one position, or on several if their rows are few: it makes their cosines and sines in shared memory
// and turns all heads (and, where positions are the indices, the whole batch) by them. The angle is made in f64, in
// half turns, and reduced to one turn there, so that f32 has it to half a unit in the last place at any position.
#include "exec/cuda/kernels/rope.h"

#include <algorithm>

#include "exec/cuda/kernels/pack.cuh"

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
  i64 places;         // s, or s b with positions as input
  int rows;           // of d elements at one place
  int each;           // places a block
  int most;           // rows of a place a block
  int pieces, along;  // of a row: N elements of each half that turn together, or N that pass; threads for them
};

// The cosines of the block's places [places][half], then the sines.
__device__ inline void make_turns(const RopeArgs& a, i64 first, int places, float* turns) {
  const int half = a.l.half, n = places * half;
  for (int j = threadIdx.x; j < n; j += kThreads) {
    const i64 place = first + j / half;
    const double position = a.l.by_input ? double(a.positions[place]) : double(a.l.index[place]);
    double angle = position * a.l.half_turns[j % half];
    angle -= 2 * rint(angle / 2);
    float sine;
    sincospif(float(angle), &sine, turns + j);
    turns[a.each * half + j] = sine * float(a.l.sign);
  }
}

// A thread's way over a block's rows: always the same piece of a row, every so many rows.
class RopeWalk {
 public:
  // `rows`: of a place, from first_row on.
  __device__ RopeWalk(const RopeArgs& a, i64 first_place, int first_row, int rows)
      : rows_(rows), all_(a.rows), piece_(threadIdx.x % a.along), start_(first_place * a.rows + first_row) {
    const int row = threadIdx.x / a.along, step = kThreads / a.along;
    place_ = row / rows, row_ = row % rows;
    places_ = step / rows, step_ = step % rows;
  }
  __device__ int piece() const { return piece_; }
  __device__ int place() const { return place_; }  // of the block's
  __device__ i64 row() const { return start_ + (i64(place_) * all_ + row_); }
  __device__ void next() {
    place_ += places_, row_ += step_;
    if (row_ >= rows_) row_ -= rows_, ++place_;
  }

 private:
  int rows_, all_, piece_, place_, row_, places_, step_;
  i64 start_;
};

template <class T, int N>
struct RopePiece {
  Words<T, N> low, high;
  i64 at = -1;    // of its first element; -1: none
  int place = 0;  // of the block's
};

template <class T, int N>
__device__ inline RopePiece<T, N> load_piece(const RopeArgs& a, RopeWalk& walk, int places) {
  const int turning = a.l.half / N;
  RopePiece<T, N> p;
  if (walk.place() < places && walk.piece() < a.pieces) {
    const bool turns = walk.piece() < turning;
    const T* x = static_cast<const T*>(a.x);
    p.at = walk.row() * a.l.d + (turns ? walk.piece() * N : 2 * a.l.half + (walk.piece() - turning) * N);
    p.place = walk.place();
    p.low = load_words<T, N>(x + p.at);
    if (turns) p.high = load_words<T, N>(x + p.at + a.l.half);
    walk.next();
  }
  return p;
}

template <class T, int N>
__device__ inline void store_piece(const RopeArgs& a, const float* turns, int piece, const RopePiece<T, N>& p) {
  if (p.at < 0) return;
  T* y = static_cast<T*>(a.y) + p.at;
  if (piece >= a.l.half / N) return store_words(y, p.low);
  float cosine[N], sine[N], u[N], v[N], low[N], high[N];
  const float* own = turns + p.place * a.l.half + piece * N;
  unpack(load_words<float, N>(own), cosine), unpack(load_words<float, N>(own + a.each * a.l.half), sine);
  unpack(p.low, u), unpack(p.high, v);
#pragma unroll
  for (int e = 0; e < N; ++e) {
    low[e] = u[e] * cosine[e] - v[e] * sine[e];
    high[e] = v[e] * cosine[e] + u[e] * sine[e];
  }
  store_words(y, packed<T>(low)), store_words(y + a.l.half, packed<T>(high));
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads, 4) rope_kernel(const __grid_constant__ RopeArgs a) {
  extern __shared__ __align__(16) float turns[];
  const i64 place = i64(blockIdx.x) * a.each;
  const int places = int(min(i64(a.each), a.places - place));
  const int row = int(blockIdx.y) * a.most;
  RopeWalk walk(a, place, row, min(a.most, a.rows - row));
  RopePiece<T, N> batch[kBatch];
  const auto load = [&] {
#pragma unroll
    for (RopePiece<T, N>& p : batch) p = load_piece<T, N>(a, walk, places);
  };
  load();  // on its way meanwhile
  make_turns(a, place, places, turns);
  __syncthreads();
  for (; batch[0].at >= 0; load())
#pragma unroll
    for (const RopePiece<T, N>& p : batch) store_piece(a, turns, walk.piece(), p);
}

template <class T, int N>
void launch_sized(RopeArgs a, cudaStream_t stream) {
  const i64 row = a.l.d * i64(sizeof(T));
  a.each = int(std::clamp<i64>(kBlockBytes / (row * a.rows), 1, kMostPlaces));
  a.most = int(std::clamp<i64>(kBlockBytes / row, 1, a.rows));
  a.pieces = a.l.half / N + (a.x == a.y ? 0 : (a.l.d - 2 * a.l.half) / N);
  if (a.pieces == 0) return;
  for (a.along = 1; a.along < a.pieces;) a.along *= 2;
  const dim3 grid(unsigned(blocks_for(a.places, a.each)), unsigned(blocks_for(a.rows, a.most)));
  const size_t shared = size_t(a.each) * size_t(a.l.half) * 2 * sizeof(float);
  rope_kernel<T, N><<<grid, kThreads, shared, stream>>>(a);
}

}  // namespace

void launch(const RopeLaunch& l, const void* x, const i32* positions, void* y, cudaStream_t stream) {
  const RopeArgs a{l, x, positions, y, l.by_input ? l.s * l.b : l.s, int(l.by_input ? l.heads : l.heads * l.b),
                   1, 1, 0,         1};
  if (a.places == 0 || a.rows == 0 || l.d == 0) return;
  dispatch_activation(l.x, [&]<class T>() {
    constexpr int kSize = 16 / sizeof(T);
    if (l.half % kSize == 0 && l.d % kSize == 0)
      launch_sized<T, kSize>(a, stream);
    else
      launch_sized<T, 1>(a, stream);
  });
  check_launch("[rope] launch");
}

}  // namespace megalith::cuda
