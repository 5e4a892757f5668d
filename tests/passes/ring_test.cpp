// Tests of the pass `ring` on attention over gathered keys and values. No gather is left, and attention overlaps every
// transfer of a block. tests/models and tests/parallel compare the numbers with one rank.
#include <gtest/gtest.h>

#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "plan/plan.h"
#include "tests/passes/small_models.h"

namespace megalith {

namespace {

constexpr i64 kRingSeq = 64;

Graph trained(const Mesh& mesh, const ParallelStyle& style, bool with_ring, DType dtype = DType::f32) {
  ModelConfig c = llama();
  c.seq_length = c.max_position_embeddings = kRingSeq;
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  BuildMode mode;
  mode.batch = 2, mode.precision = computing_in(dtype);
  const Built gpt = Gpt(c, style).build_whole(b, mode);
  add_gradients(b, gpt.parameters, gpt.terms);
  run_passes(g, standard_passes(with_ring));
  return g;
}

bool is_part(const Node& n) { return n.op.get_if<AttentionPart>() || n.op.get_if<AttentionPartGrad>(); }

int rotations(const Graph& g, Phase phase) {
  int out = 0;
  for (const Node& n : g.nodes)
    if (const auto* r = n.op.get_if<Relayout>(); r && r->transfer == Transfer::rotate) out += n.phase == phase;
  return out;
}

}  // namespace

TEST(Ring, takes_the_place_of_gathers_and_their_sums) {
  for (const int ranks : {2, 4}) {
    const Graph g = trained(make_mesh({1, ranks, 2, 1}), {true}, true);
    for (const Node& n : g.nodes) {
      EXPECT_FALSE(n.op.get_if<Attention>() || n.op.get_if<AttentionGrad>());
      if (const auto* r = n.op.get_if<Relayout>(); r && r->axes == g.mesh.used(groups::context))
        EXPECT_EQ(r->transfer, Transfer::rotate) << print(g, n);
    }
    EXPECT_EQ(rotations(g, Phase::forward), kLayers * 2 * (ranks - 1));
    EXPECT_EQ(rotations(g, Phase::backward), kLayers * 4 * (ranks - 1));  // rotations of blocks and of their gradients
  }
}

// Transfers of keys and values start before a part and end after it. Those of gradients overlap the next part. In the
// backward, the product that computes attention's cotangent overlaps the first block's transfer.
TEST(Ring, blocks_travel_beside_attention) {
  const Graph g = trained(make_mesh({1, 4, 1, 1}), {}, true);
  std::map<Value, std::pair<int, int>> begun;  // parts and products before the rotation
  std::vector<int> idle;                       // transfers that overlap no part
  int parts = 0, products = 0;
  for (const Node& n : g.nodes) {
    parts += is_part(n), products += n.op.get_if<Einsum>() != nullptr;
    if (const auto* r = n.op.get_if<Relayout>(); r && r->transfer == Transfer::rotate) {
      EXPECT_GT(r->lane, 0);
      begun[n.outs[0]] = {parts, products};
    }
    if (!n.op.get_if<Wait>() || !begun.count(n.ins[0]) || begun.at(n.ins[0]).first != parts) continue;
    idle.push_back(n.ins[0].id);
    EXPECT_GT(products, begun.at(n.ins[0]).second);
  }
  EXPECT_EQ(parts, kLayers * 2 * 4);
  EXPECT_EQ(idle.size(), size_t(kLayers * 2));
}

TEST(Ring, no_rank_holds_more_than_a_block_of_keys) {
  constexpr int kRanks = 4;
  const auto longest = [&](bool with_ring) {  // the most key positions that a rank holds at one time
    const Graph g = trained(make_mesh({1, kRanks, 1, 1}), {}, with_ring);
    i64 out = 0;
    for (const Node& n : g.nodes)
      for (Value v : n.outs)
        if (const Type t = local_type(g.mesh, g.type(v)); t.ndim() == 4 && t.dim(0) > 1) out = std::max(out, t.dim(0));
    return out;
  };
  EXPECT_EQ(longest(false), kRingSeq);
  EXPECT_EQ(longest(true), kRingSeq / kRanks);
}

// According to the types, rank 0 has these blocks in turn: its own, the last rank's, and so on.
TEST(Ring, types_tell_which_block_is_where) {
  const Graph g = trained(make_mesh({1, 4, 1, 1}), {}, true);
  std::vector<i64> first;
  for (const Node& n : g.nodes)
    if (n.op.get_if<AttentionPart>() && to_string(n.origin).starts_with("layer 0")) {
      const Type& k = g.type(n.ins[1]);
      first.push_back(index_runs(g.mesh, k.shape, k.layout, g.mesh.coord(0), 0)[0].start / (kRingSeq / 8));
    }
  EXPECT_EQ(first, (std::vector<i64>{0, 3, 2, 1}));
}

TEST(Ring, sums_are_in_f32) {
  const Graph g = trained(make_mesh({1, 2, 1, 1}), {}, true, DType::bf16);
  for (const Node& n : g.nodes) {
    if (const auto* part = n.op.get_if<AttentionPart>())
      EXPECT_EQ(g.type(n.outs[0]).dtype, part->last ? DType::bf16 : DType::f32);
    if (n.op.get_if<AttentionPartGrad>())
      for (Value v : n.outs) EXPECT_EQ(g.type(v).dtype, DType::f32);
  }
}

TEST(Ring, leaves_alone_what_gathers_no_keys) {
  Graph one = trained(make_mesh({1, 1, 2, 1}), {}, false);
  EXPECT_FALSE(ring(one));
  Graph heads = trained(make_mesh({1, 2, 1, 1}), {.cp_all_to_all = true}, false);
  EXPECT_FALSE(ring(heads));
  EXPECT_NO_THROW(verify(heads));
}

}  // namespace megalith
