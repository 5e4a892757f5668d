// A plan's workspace, asked for once, must be enough for the kernels of all ranks.
#include "exec/cuda_needs/attention_needs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace megalith::cuda {

namespace {

constexpr i64 kSamples = 1, kGroups = 2, kHeads = 4, kWidth = 64;

struct Ring {
  Mesh mesh;
  Type o, k;
};
Ring ring(int ranks, i64 s, Order order, int rotated, int tensor_ranks = 1) {
  Layout o = whole(5), k = whole(4);
  o.dims[0] = {{groups::context, order}}, k.dims[0] = {{groups::context, order, rotated}};
  if (tensor_ranks > 1) o.dims[2] = k.dims[2] = {{groups::kv_heads}};
  return {make_mesh({1, ranks, tensor_ranks, 1}),
          {DType::bf16, {s, kSamples, kGroups, kHeads, kWidth}, o},
          {DType::bf16, {s, kSamples, kGroups, kWidth}, k}};
}

AttentionSizes sizes_of(const Ring& r, const AttentionPlace& here, DType dtype) {
  const int g = int(local_shape(r.mesh, r.o.shape, r.o.layout)[2]);
  AttentionSizes z;
  z.dtype = dtype;
  z.s = int(here.queries.n), z.b = int(kSamples), z.g = g, z.r = int(kHeads);
  z.d = int(kWidth), z.t = int(here.keys.n);
  z.positions = here.queries, z.keys = here.keys;
  z.query_heads = int(g * kHeads), z.key_heads = g;
  return z;
}

AttentionCase case_of(const Ring& r, DType dtype, bool backward) {
  const auto places = places_of(r.mesh, r.o, r.k);
  return {.dtype = dtype, .s = shortest_run(places), .t = places[0].keys.n, .d = kWidth, .backward = backward};
}

// Each place's need, and what is planned from its point of view.
struct Needs {
  std::vector<i64> at, planned;
};
Needs needs_of(const Ring& r, DType dtype, bool backward) {
  const AttentionCase c = case_of(r, dtype, backward);
  const auto places = places_of(r.mesh, r.o, r.k);
  Needs out;
  for (const AttentionPlace& here : places) {
    const AttentionSizes z = sizes_of(r, here, dtype);
    out.at.push_back(part_need(c, z, here)), out.planned.push_back(part_need(c, z, places));
  }
  return out;
}

}  // namespace

TEST(AttentionNeeds, one_plan_is_enough_for_every_rank_of_a_ring) {
  for (int ranks : {2, 4})
    for (Order order : {Order::zigzag, Order::block})
      for (int rotated = 0; rotated < ranks; ++rotated)
        for (int tensor_ranks : {1, 2})
          for (DType dtype : {DType::bf16, DType::f32})
            for (bool backward : {false, true}) {
              SCOPED_TRACE(fmt::format("{} ranks, {}, rotated {}, {}{}", ranks,
                                       order == Order::zigzag ? "zigzag" : "blocks", rotated, name_of(dtype),
                                       backward ? ", backward" : ""));
              const Needs n = needs_of(ring(ranks, 256 * 2 * ranks, order, rotated, tensor_ranks), dtype, backward);
              ASSERT_EQ(n.at.size(), size_t(ranks));
              const i64 most = *std::max_element(n.at.begin(), n.at.end());
              for (i64 planned : n.planned) EXPECT_EQ(planned, most);
            }
}

// Of two ranks, the first needs the other's keys only for the second half of its queries. The other needs the first's
// keys for all queries.
TEST(AttentionNeeds, ranks_see_blocks_of_different_sizes) {
  const i64 s = 1024, rows = s / 2 * kSamples * kGroups * kHeads;
  const auto forward = needs_of(ring(2, s, Order::zigzag, 1), DType::bf16, false);
  EXPECT_EQ(forward.at[1], rows * kWidth * 2 + rows * 4 + kForwardPlanBytes);
  EXPECT_EQ(forward.at[0], rows / 2 * kWidth * 2 + rows / 2 * 4 + kForwardPlanBytes);
  EXPECT_EQ(forward.planned[0], forward.at[1]);
  const auto backward = needs_of(ring(2, s, Order::zigzag, 1), DType::bf16, true);
  EXPECT_LT(backward.at[0], backward.at[1]);
  EXPECT_EQ(backward.planned[0], backward.at[1]);
}

// The last rank's two chunks are neighbours: one run, of another length than the others' runs.
TEST(AttentionNeeds, ways_over_all_keys_are_chosen_alike) {
  for (int ranks : {2, 4}) {
    Ring r = ring(ranks, 2 * ranks, Order::zigzag, 0);
    r.k.layout = whole(4);
    const auto places = places_of(r.mesh, r.o, r.k);
    EXPECT_EQ(places.back().queries.runs, 1);
    EXPECT_EQ(shortest_run(places), 1);
    EXPECT_EQ(choose_attention(case_of(r, DType::bf16, false)).way, AttentionChoice::Way::own);
  }
}

TEST(AttentionNeeds, gradients_over_all_keys) {
  using Way = AttentionChoice::Way;
  for (int ranks : {2, 4})
    for (i64 chunk : {100, 128}) {
      Ring r = ring(ranks, chunk * 2 * ranks, Order::zigzag, 0);
      r.k.layout = whole(4);
      const auto places = places_of(r.mesh, r.o, r.k);
      for (Way way : {Way::own, Way::hopper}) {
        i64 planned = 0;
        for (const AttentionPlace& here : places) {
          const AttentionSizes z = sizes_of(r, here, DType::bf16);
          planned = std::max(planned, grad_need(way, z, {here}));
          EXPECT_EQ(grad_need(way, z, places), grad_need(way, sizes_of(r, places[0], DType::bf16), places));
        }
        EXPECT_EQ(grad_need(way, sizes_of(r, places[0], DType::bf16), places), planned);
      }
    }
}

// 2^20 positions, where a grid's second dimension would end.
TEST(AttentionNeeds, a_million_positions_suit_the_kernel_for_hopper) {
  Ring r = ring(1, i64{1} << 20, Order::block, 0);
  r.o.shape[4] = r.k.shape[3] = 128;
  const auto places = places_of(r.mesh, r.o, r.k);
  AttentionSizes z = sizes_of(r, places[0], DType::bf16);
  z.d = 128;
  const i64 dq = (i64{1} << 20) * kGroups * kHeads * 128 * 4;
  const i64 need = grad_need(AttentionChoice::Way::hopper, z, places);
  EXPECT_GT(need, dq);
  EXPECT_LT(need, dq + dq / 32);
}

}  // namespace megalith::cuda
