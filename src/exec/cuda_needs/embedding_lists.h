// Scratch data of the embedding's gradient: a list of tokens for each id, in chunks, and sums of chunks.
#pragma once
#include <array>

#include "base/dtype.h"

namespace megalith::cuda {

struct EmbeddingShape {
  i64 tokens, width;
  i64 first, rows;
};

// Maximum tokens that a block sums. For a bf16 or f16 table a list is summed in one step, so its sum is rounded once.
constexpr u32 embedding_chunk(DType table) { return size_of(table) == 2 ? u32(1) << 31 : 128; }

// The parts of the workspace, in order. By row: counts, totals, begins. By token: arrivals, places, lists. Then all
// chunks, the first chunks of long lists, and their sums.
struct ListSizes {
  static constexpr int kLists = 9, kTotals = 12, kTask = 20;  // bytes of the device's structs
  std::array<i64, kLists> bytes;                              // of each part, a multiple of 256
  i64 all() const;
};
ListSizes list_sizes(const EmbeddingShape& s, u32 chunk);

}  // namespace megalith::cuda
