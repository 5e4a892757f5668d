#include "exec/cuda_needs/attention_block.h"

#include <gtest/gtest.h>

#include "mesh/layout.h"

namespace megalith::cuda {

namespace {

// Positions, chunk by chunk of 8.
Indices chunks(std::initializer_list<i64> list, i64 each = 8) {
  Indices out;
  for (i64 chunk : list) {
    out.start[out.runs] = chunk * each, out.place[out.runs] = out.n;
    out.n += each, ++out.runs;
  }
  return out;
}

void expect(const std::optional<SeenBlock>& got, const SeenBlock& want) {
  ASSERT_TRUE(got);
  EXPECT_EQ(got->queries, want.queries);
  EXPECT_EQ(got->keys, want.keys);
  if (want.queries == 0) return;
  EXPECT_EQ(got->query, want.query);
  EXPECT_EQ(got->causal, want.causal);
}

Indices held(const Mesh& mesh, int rank, Order order, int rotated) {
  Layout l = whole(1);
  l.dims[0] = {{groups::context, order, rotated}};
  Indices out;
  for (const Run& r : index_runs(mesh, {i64(16 * mesh.n(groups::context))}, l, mesh.coord(rank), 0)) {
    out.start[out.runs] = r.start, out.place[out.runs] = out.n;
    out.n += r.length, ++out.runs;
  }
  return out;
}

}  // namespace

TEST(SeenBlock, zigzag) {
  const Indices mine = chunks({1, 6});
  expect(seen_block(mine, mine), {0, 16, 16, true});
  expect(seen_block(mine, chunks({0, 7})), {0, 16, 8, false});  // of a rank before: its first chunk, by all
  expect(seen_block(mine, chunks({2, 5})), {8, 8, 16, false});  // of a rank behind: all of it, by the second chunk
}

TEST(SeenBlock, blocks) {
  const Indices mine = chunks({1}, 16);
  expect(seen_block(mine, mine), {0, 16, 16, true});
  expect(seen_block(mine, chunks({0}, 16)), {0, 16, 16, false});
  expect(seen_block(mine, chunks({2}, 16)), {});
}

TEST(SeenBlock, what_is_not_one_problem) {
  EXPECT_FALSE(seen_block(chunks({1}, 16), chunks({3})));       // keys among the queries
  EXPECT_FALSE(seen_block(chunks({1, 6}), chunks({0, 5})));     // the second chunk sees more than the first
  EXPECT_FALSE(seen_block(chunks({1, 4, 6}), chunks({0, 5})));  // likewise
  EXPECT_FALSE(seen_block(chunks({1, 6}), chunks({6, 1})));     // keys out of order
}

// Against the mask, element by element.
TEST(SeenBlock, every_block_of_a_ring_is_one_problem) {
  for (int ranks : {1, 2, 3, 4})
    for (Order order : {Order::block, Order::zigzag})
      for (int rank = 0; rank < ranks; ++rank)
        for (int rotated = 0; rotated < ranks; ++rotated) {
          const Mesh mesh = make_mesh({1, ranks, 1, 1});
          const Indices q = held(mesh, rank, order, 0), k = held(mesh, rank, order, rotated);
          const auto seen = seen_block(q, k);
          ASSERT_TRUE(seen);
          for (i64 i = 0; i < q.n; ++i)
            for (i64 j = 0; j < k.n; ++j) {
              const i64 row = i - seen->query, first = seen->keys - seen->queries + row + 1;  // not seen any more
              const bool in = row >= 0 && row < seen->queries && j < (seen->causal ? first : seen->keys);
              ASSERT_EQ(in, k[j] <= q[i]) << rank << " of " << ranks << " rotated " << rotated << ": " << i << " " << j;
            }
        }
}

}  // namespace megalith::cuda
