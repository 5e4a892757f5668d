// A warp's task is a chunk of a list of tokens and a piece of the row. A list's first chunk is written to the table.
// A long list's other chunks are written to the workspace and added in order. So a frequent id does not occupy one
// warp while others wait. If nothing is accumulated, the same launch zeroes the rows without tokens, so the table is
// written once. With marks it does not: the next launch marks the rows that hold a gradient.
#include "exec/cuda/kernels/loss/embedding_lists.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kResident = 3;  // blocks a multiprocessor
constexpr int kPacks = 2;                                             // of a row, of each lane

struct SumArgs {
  EmbeddingShape s;
  Lists l;
  const void* dy;
  void* table;
  u8* marks;  // or null
  bool add;
  u32 chunk;
  int pieces;  // of a row: kPacks of N elements for each lane
};

// Whether the row has a value to keep.
__device__ inline bool keeps(const SumArgs& a, i64 row) { return a.add && (!a.marks || a.marks[row]); }

// The first of a lane's columns in pack k of a piece.
template <int N>
__device__ inline i64 column_of(i64 piece, int k) {
  return ((piece * kPacks + k) * 32 + threadIdx.x % 32) * N;
}

// Adds rows of dy, in order, to this lane's columns.
template <class X, int N>
__device__ inline void add_tokens(const SumArgs& a, const Task& task, i64 piece, float (&sum)[kPacks][N]) {
  constexpr u32 kBatch = 8 / sizeof(X);
  const X* dy = static_cast<const X*>(a.dy);
  for (u32 first = 0; first < task.tokens; first += 32) {
    const u32 lane = threadIdx.x % 32, here = min(task.tokens - first, 32u);
    const u32 token = lane < here ? a.l.tokens[task.begin + first + lane] : 0;
    for (u32 i = 0; i < here; i += kBatch) {
      Pack<X, N> x[kBatch][kPacks];
#pragma unroll
      for (u32 j = 0; j < kBatch; ++j) {
        const i64 row = i64(__shfl_sync(0xffffffffu, token, (i + j) % 32)) * a.s.width;
#pragma unroll
        for (int k = 0; k < kPacks; ++k)
          if (i + j < here && column_of<N>(piece, k) < a.s.width)
            x[j][k] = load_pack<N>(dy + row + column_of<N>(piece, k));
      }
#pragma unroll
      for (u32 j = 0; j < kBatch; ++j) {
        if (i + j >= here) break;
#pragma unroll
        for (int k = 0; k < kPacks; ++k) {
          float v[N];
          unpack(x[j][k], v);
#pragma unroll
          for (int e = 0; e < N; ++e) sum[k][e] += v[e];
        }
      }
    }
  }
}

template <class X, class Y, int N>
__device__ inline void run_task(const SumArgs& a, const Task& task, i64 piece) {
  Y* row = static_cast<Y*>(a.table) + task.row * a.s.width;
  Pack<Y, N> held[kPacks];  // loads while the tokens are added
  const bool first = task.rank == 0, adds = first && keeps(a, task.row);
#pragma unroll
  for (int k = 0; k < kPacks; ++k)
    if (adds && column_of<N>(piece, k) < a.s.width) held[k] = load_pack<N>(row + column_of<N>(piece, k));
  float sum[kPacks][N] = {};
  add_tokens<X, N>(a, task, piece, sum);
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const i64 column = column_of<N>(piece, k);
    if (column >= a.s.width) continue;
    float y[N] = {};
    if (adds) unpack(held[k], y);
#pragma unroll
    for (int e = 0; e < N; ++e) y[e] += sum[k][e];
    // If two chunks are not the first of their lists, their starts are at least a chunk apart.
    if (first)
      put_pack(row + column, packed<Y>(y));
    else
      put_pack(a.l.parts + task.begin / a.chunk * a.s.width + column, packed<float>(y));
  }
}

template <class Y, int N>
__device__ inline void zero_row(const SumArgs& a, i64 row) {
  const float zeros[N] = {};
  Y* to = static_cast<Y*>(a.table) + row * a.s.width;
#pragma unroll 4
  for (i64 i = threadIdx.x % 32 * N; i < a.s.width; i += 32 * N) put_pack(to + i, packed<Y>(zeros));
}

template <class X, class Y, int N>
__global__ void __launch_bounds__(kThreads, kResident) sum_kernel(const SumArgs a) {
  const i64 first = i64(blockIdx.x) * kWarps + threadIdx.x / 32, warps = i64(gridDim.x) * kWarps;
  const i64 items = i64(a.l.totals->tasks) * a.pieces;
  for (i64 i = first; i < items; i += warps) run_task<X, Y, N>(a, a.l.tasks[i / a.pieces], i % a.pieces);
  if (a.add || a.marks) return;
  for (i64 row = first; row < a.s.rows; row += warps)
    if (a.l.counts[row] == 0) zero_row<Y, N>(a, row);
}

template <class Y, int N>
__global__ void __launch_bounds__(kThreads, kResident) add_parts_kernel(const SumArgs a) {
  const i64 first = i64(blockIdx.x) * kWarps + threadIdx.x / 32, warps = i64(gridDim.x) * kWarps;
  const i64 items = i64(a.l.totals->longs) * a.pieces;
  for (i64 i = first; i < items; i += warps) {
    const Task task = a.l.longs[i / a.pieces];
    for (int k = 0; k < kPacks; ++k) {
      const i64 column = column_of<N>(i % a.pieces, k);
      if (column >= a.s.width) continue;
      Y* to = static_cast<Y*>(a.table) + task.row * a.s.width + column;
      float y[N], part[N];
      unpack(load_pack<N>(to), y);
#pragma unroll 4
      for (u32 rank = a.chunk; rank < task.total; rank += a.chunk) {
        unpack(load_pack<N>(a.l.parts + (task.begin + rank) / a.chunk * a.s.width + column), part);
#pragma unroll
        for (int e = 0; e < N; ++e) y[e] += part[e];
      }
      put_pack(to, packed<Y>(y));
    }
  }
}

__global__ void __launch_bounds__(kThreads) mark_kernel(const SumArgs a) {
  const i64 row = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (row < a.s.rows) a.marks[row] = keeps(a, row) || a.l.counts[row] > 0;
}

template <class X, class Y, int N>
void launch_sums(SumArgs a, int blocks, cudaStream_t stream) {
  a.pieces = blocks_for(a.s.width, kPacks * 32 * N);
  sum_kernel<X, Y, N><<<blocks, kThreads, 0, stream>>>(a);
  if (a.s.tokens > a.chunk) add_parts_kernel<Y, N><<<blocks, kThreads, 0, stream>>>(a);
  if (a.marks && a.s.rows > 0) mark_kernel<<<blocks_for(a.s.rows, kThreads), kThreads, 0, stream>>>(a);
}

}  // namespace

EmbeddingGradLaunch plan_embedding_grad(const EmbeddingShape& s, DType dy, DType table, int sms) {
  return {s, dy, table, sms * kResident, list_sizes(s, embedding_chunk(table)).all()};
}

void launch(const EmbeddingGradLaunch& l, bool add, const i32* ids, const void* dy, void* table, u8* marks,
            void* workspace, cudaStream_t stream) {
  const EmbeddingShape& s = l.shape;
  if (s.width == 0) return;
  SumArgs args{s, {}, dy, table, marks, add, embedding_chunk(l.table), 0};
  lay_out(s, args.chunk, static_cast<std::byte*>(workspace), args.l);
  launch_lists({s, ids, args.chunk, args.l}, stream);
  dispatch_activation(l.dy, [&]<class X>() {
    dispatch_activation(l.table, [&]<class Y>() {
      if (s.width % 4 == 0)
        launch_sums<X, Y, 4>(args, l.blocks, stream);
      else
        launch_sums<X, Y, 1>(args, l.blocks, stream);
    });
  });
  check_launch("[embedding_grad] launch");
}

}  // namespace megalith::cuda
