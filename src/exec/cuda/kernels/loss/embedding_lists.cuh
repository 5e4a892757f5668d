// For the embedding's gradient: the lists of tokens of each id, in order.
//
// Counting needs integer atomics, so lists, and tokens in a list, come in any order. Ranking each token in its list
// restores the order. The sum over a list then has the same bits every time.
#pragma once
#include "exec/cuda/kernels/loss/embedding.h"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

// The row of an id in the rank's part of the table. `rows` for another rank's id.
__device__ inline i64 row_of(const EmbeddingShape& s, i32 id) {
  const i64 row = id - s.first;
  return row >= 0 && row < s.rows ? row : s.rows;
}

// A chunk of a list.
struct Task {
  u32 row, begin, tokens;  // tokens[begin ..] of the lists
  u32 rank, total;         // rank of its first token in the list; tokens of the list
};

struct Totals {
  u32 listed, tasks;  // tokens in all lists, and their chunks; one u64 for the atomics
  u32 longs;          // lists of more than one chunk
};

struct Lists {
  u32* counts;             // by row: tokens
  Totals* totals;          // after the counts, and cleared with them
  u32* begins;             // by row: start of its list
  u32 *arrivals, *places;  // by token: its order of arrival in its list; the lists in that order
  u32* tokens;             // the lists
  Task *tasks, *longs;     // all chunks; the first chunks of lists with more than one
  float* parts;            // [tokens / chunk + 1][width] for sums of chunks
};

struct ListArgs {
  EmbeddingShape s;
  const i32* ids;
  u32 chunk;  // maximum tokens of a chunk
  Lists l;
};

// Enqueues the kernels that make the lists.
void launch_lists(const ListArgs& a, cudaStream_t stream);

// Lays the lists out in the workspace.
void lay_out(const EmbeddingShape& s, u32 chunk, std::byte* workspace, Lists& l);

}  // namespace megalith::cuda
