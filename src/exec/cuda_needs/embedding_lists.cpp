#include "exec/cuda_needs/embedding_lists.h"

#include <numeric>

namespace megalith::cuda {

i64 ListSizes::all() const { return std::accumulate(bytes.begin(), bytes.end(), i64{0}); }

ListSizes list_sizes(const EmbeddingShape& s, u32 chunk) {
  constexpr i64 kWord = 4;
  const i64 longs = s.tokens / chunk + 1;
  ListSizes out{{s.rows * kWord, ListSizes::kTotals, s.rows * kWord, s.tokens * kWord, s.tokens * kWord,
                 s.tokens * kWord, s.tokens * ListSizes::kTask, longs * ListSizes::kTask, longs * s.width * kWord}};
  for (i64& bytes : out.bytes) bytes = (bytes + 255) / 256 * 256;
  return out;
}

}  // namespace megalith::cuda
