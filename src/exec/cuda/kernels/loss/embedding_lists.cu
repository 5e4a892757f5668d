#include "exec/cuda/kernels/loss/embedding_lists.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) count_kernel(const ListArgs a) {
  const i64 token = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (token >= a.s.tokens) return;
  const i64 row = row_of(a.s, a.ids[token]);
  if (row < a.s.rows) a.l.arrivals[token] = atomicAdd(a.l.counts + row, 1u);
}

// The sum over the lanes before this one. `all`: the sum over the warp.
__device__ inline u64 sum_before(u64 x, u64& all) {
  u64 sum = x;
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    const u64 other = __shfl_up_sync(0xffffffffu, sum, by);
    if (threadIdx.x % 32 >= by) sum += other;
  }
  all = __shfl_sync(0xffffffffu, sum, 31);
  return sum - x;
}

// The token that came first reserves space for its row's list and tasks, with one atomic a warp.
__global__ void __launch_bounds__(kThreads) begin_kernel(const ListArgs a) {
  const i64 token = i64(blockIdx.x) * kThreads + threadIdx.x;
  const i64 row = token < a.s.tokens ? row_of(a.s, a.ids[token]) : a.s.rows;
  const bool first = row < a.s.rows && a.l.arrivals[token] == 0;
  const u32 count = first ? a.l.counts[row] : 0, tasks = (count + a.chunk - 1) / a.chunk;
  u64 all = 0, at = sum_before(u64(tasks) << 32 | count, all), before = 0;
  if (threadIdx.x % 32 == 0 && all > 0)
    before = atomicAdd(reinterpret_cast<unsigned long long*>(a.l.totals), static_cast<unsigned long long>(all));
  at += __shfl_sync(0xffffffffu, before, 0);
  if (!first) return;
  const u32 begin = u32(at), task = u32(at >> 32);
  a.l.begins[row] = begin;
  for (u32 i = 0; i < tasks; ++i) {
    const u32 rank = i * a.chunk;
    a.l.tasks[task + i] = {u32(row), begin + rank, min(count - rank, a.chunk), rank, count};
  }
  if (tasks > 1) a.l.longs[atomicAdd(&a.l.totals->longs, 1u)] = {u32(row), begin, a.chunk, 0, count};
}

__global__ void __launch_bounds__(kThreads) list_kernel(const ListArgs a) {
  const i64 token = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (token >= a.s.tokens) return;
  const i64 row = row_of(a.s, a.ids[token]);
  if (row < a.s.rows) a.l.places[a.l.begins[row] + a.l.arrivals[token]] = u32(token);
}

// A warp has a token: its rank is the number of smaller tokens in its list.
__global__ void __launch_bounds__(kThreads) rank_kernel(const ListArgs a) {
  const i64 token = (i64(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (token >= a.s.tokens) return;
  const i64 row = row_of(a.s, a.ids[token]);
  if (row == a.s.rows) return;
  const u32 begin = a.l.begins[row], count = a.l.counts[row];
  u32 rank = 0;
  for (u32 i = threadIdx.x % 32; i < count; i += 32) rank += a.l.places[begin + i] < u32(token);
  rank = __reduce_add_sync(0xffffffffu, rank);
  if (threadIdx.x % 32 == 0) a.l.tokens[begin + rank] = u32(token);
}

}  // namespace

void lay_out(const EmbeddingShape& s, u32 chunk, std::byte* workspace, Lists& l) {
  static_assert(sizeof(Totals) == ListSizes::kTotals && sizeof(Task) == ListSizes::kTask);
  const ListSizes sizes = list_sizes(s, chunk);
  int list = 0;
  const auto take = [&](auto*& to) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(workspace);
    workspace += sizes.bytes[size_t(list++)];
  };
  take(l.counts), take(l.totals), take(l.begins), take(l.arrivals), take(l.places), take(l.tokens);
  take(l.tasks), take(l.longs), take(l.parts);
}

void launch_lists(const ListArgs& a, cudaStream_t stream) {
  const i64 cleared = reinterpret_cast<std::byte*>(a.l.totals + 1) - reinterpret_cast<std::byte*>(a.l.counts);
  check_cuda(cudaMemsetAsync(a.l.counts, 0, size_t(cleared), stream), "[embedding_grad] clearing counts");
  if (a.s.tokens == 0) return;
  const int blocks = blocks_for(a.s.tokens, kThreads);
  count_kernel<<<blocks, kThreads, 0, stream>>>(a);
  begin_kernel<<<blocks, kThreads, 0, stream>>>(a);
  list_kernel<<<blocks, kThreads, 0, stream>>>(a);
  rank_kernel<<<blocks_for(a.s.tokens, kThreads / 32), kThreads, 0, stream>>>(a);
  check_launch("[embedding_grad] launch");
}

}  // namespace megalith::cuda
