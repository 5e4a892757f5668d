// For the embedding's gradient: the tokens of each id side by side, in their order.
//
// Counting them needs integer atomics, so the lists lie in any order, and tokens come into their list in any; ranking
// each token among its list's puts that right. What is then added up, list by list, is the same bits every time.
#pragma once
#include "exec/cuda/kernels/loss/embedding.h"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

// Row of the rank's table of an id; `rows` for an id that is not here.
__device__ inline i64 row_of(const EmbeddingShape& s, i32 id) {
  const i64 row = id - s.first;
  return row >= 0 && row < s.rows ? row : s.rows;
}

// A chunk of a list.
struct Task {
  u32 row, begin, tokens;  // tokens[begin ..] of the lists
  u32 rank, total;         // of its first token in the list; tokens of the list
};

struct Totals {
  u32 listed, tasks;  // tokens in all lists, chunks of them; as one u64 for the atomics
  u32 longs;          // lists of more than a chunk
};

struct Lists {
  u32* counts;             // by row: tokens
  Totals* totals;          // behind the counts: cleared with them
  u32* begins;             // by row: where its list begins
  u32 *arrivals, *places;  // by token: its number within its list as it came; the lists in that order
  u32* tokens;             // the lists
  Task *tasks, *longs;     // all chunks; the first ones of lists of more than one
  float* parts;            // [tokens / chunk + 1][width] for sums of chunks
};

struct ListArgs {
  EmbeddingShape s;
  const i32* ids;
  u32 chunk;  // tokens, at most
  Lists l;
};

// Enqueues the kernels that make the lists.
void launch_lists(const ListArgs& a, cudaStream_t stream);

// Lays the lists out in the workspace.
void lay_out(const EmbeddingShape& s, u32 chunk, std::byte* workspace, Lists& l);

}  // namespace megalith::cuda
