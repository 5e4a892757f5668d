// Products with their transfers, and an amax that ranks share only while there is no scale, between ranks.
#include "ops/overlapped_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/rng.h"
#include "exec/cpu/executor.h"
#include "passes/pass.h"
#include "tests/harness/overlapped_graph.h"
#include "tests/harness/rank_set.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

using namespace harness;

// The bytes of both outputs on all ranks.
std::vector<std::vector<std::byte>> run_layer(const Graph& g, double scale) {
  const Plan plan = plan_graph(g);
  const Program& p = plan.programs[0];
  std::vector<std::vector<std::byte>> out(size_t(2 * g.mesh.num_ranks()));
  run_ranks(g.mesh.num_ranks(), [&](Ranks& ranks) {
    const int rank = ranks.rank();
    cpu::Executor executor(plan, g.mesh.coord(rank), &ranks);
    for (const Leaf& l : plan.leaves) {
      const Tensor all =
          l.name == "state" ? filled(l.type.shape, scale) : random_tensor(l.type.shape, hash_name(l.name));
      to_bytes(l.type.dtype, place(g.mesh, l.type, all)[size_t(rank)], executor.leaf(l.name));
    }
    // Memory may hold anything where ranks exchange no amax.
    for (const Instruction& in : p.instructions)
      if (in.op.get_if<SharedAmax>()) *reinterpret_cast<float*>(executor.buffer(0, in.outs[0])) = INFINITY;
    executor.run(0);
    for (const auto& [at, name] : {std::pair(0, "y"), std::pair(1, "z")}) {
      const int buffer = p.outputs.at(name);
      const std::byte* bytes = executor.buffer(0, buffer);
      out[size_t(2 * rank + at)].assign(bytes, bytes + local_type(g.mesh, p.buffers[size_t(buffer)].type).bytes());
    }
  });
  return out;
}

}  // namespace

TEST(OverlappedProduct, equals_the_two_ops) {
  for (const Mesh& mesh : {make_mesh({1, 1, 2, 1}), make_mesh({1, 1, 2, 2}), make_mesh({2, 1, 2, 1})})
    for (const bool codes : {false, true})
      for (const double scale : {0.0, 16.0}) {
        Graph g = layer_between_transfers(mesh, {}, codes);
        const auto want = run_layer(g, scale);
        ASSERT_TRUE(overlap_products(g, 1));
        verify(g);
        EXPECT_EQ(run_layer(g, scale), want) << codes << " " << scale;
      }
}

// With a scale no rank waits for another: here only one of two runs. It must know that a value is not finite.
TEST(SharedAmax, is_exchanged_only_without_a_scale) {
  Graph g;
  g.mesh = make_mesh({1, 1, 2, 1});
  Builder b(g);
  Type part{DType::f32, {4}, whole(1)};
  part.layout.dims[0] = {{groups::tensor}};
  const Value x = b.leaf({"x", part}), state = b.leaf({"state", {DType::f32, {2, 3}, whole(2)}});
  const Value own = b.add1(Amax{{4}}, {x}), amax = b.relayout(own, b.type(own).layout.max, kSame);
  Node& n = g.nodes.back();
  n.op = SharedAmax{*n.op.get_if<Relayout>(), 1}, n.ins.push_back(state);
  g.outputs["amax"] = amax;
  verify(g);
  const Plan plan = plan_graph(g);
  for (const float largest : {3.0f, 2.0f, float(INFINITY)})
    run_ranks(2, [&](Ranks& ranks) {
      const bool has_scale = largest != 3;
      cpu::Executor executor(plan, g.mesh.coord(ranks.rank()), &ranks);
      const float values[] = {1, has_scale ? -largest : -float(2 + ranks.rank())};
      std::memcpy(executor.leaf("x"), values, sizeof values);
      float scales[6] = {};
      scales[1] = has_scale ? 3 : 0;
      std::memcpy(executor.leaf("state"), scales, sizeof scales);
      if (has_scale && ranks.rank() == 1) return;
      executor.run(0);
      float got = 0;
      std::memcpy(&got, executor.buffer(0, plan.programs[0].outputs.at("amax")), sizeof got);
      EXPECT_EQ(got, largest);
    });
}

}  // namespace megalith
