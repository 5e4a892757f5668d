// The data of the embedding's gradient about tokens: a list for each id, in chunks, and sums of chunks.
#pragma once
#include <array>

#include "base/dtype.h"

namespace megalith::cuda {

struct EmbeddingShape {
  i64 tokens, width;
  i64 first, rows;
};

// The most tokens that a block sums. A list is added to a bf16 table in one step, so its sum is rounded once.
constexpr u32 embedding_chunk(DType table) { return table == DType::bf16 ? u32(1) << 31 : 128; }

// In the order of the workspace: by row counts, the totals, by row begins, by token arrivals, places and the lists,
// all chunks, the first ones of long lists, their sums.
struct ListSizes {
  static constexpr int kLists = 9, kTotals = 12, kTask = 20;  // bytes of what a GPU keeps
  std::array<i64, kLists> bytes;                              // of each, whole 256s
  i64 all() const;
};
ListSizes list_sizes(const EmbeddingShape& s, u32 chunk);

}  // namespace megalith::cuda
