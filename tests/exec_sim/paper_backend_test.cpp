#include "exec/sim/paper_backend.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/all.h"
#include "tests/error_of.h"

namespace megalith::sim {

namespace {

DeviceFacts hopper() {
  DeviceFacts f;
  f.name = "a card", f.memory_bytes = i64{80} << 30, f.reserved_bytes = 1 << 20;
  f.sms = 132, f.shared_memory = 232448, f.capability = 90, f.hbm_gbps = 3000, f.peak_tflops = {{"bf16", 900}};
  return f;
}

struct Product {
  Graph g;
  Product() {
    g.mesh = make_mesh({});
    Builder b(g);
    const Value x = b.leaf({"x", {DType::bf16, {256, 128}, whole(2)}}),
                w = b.leaf({"w", {DType::bf16, {512, 128}, whole(2)}});
    b.add1(Einsum{"sh,fh->sf", DType::bf16}, {x, w});
  }
  const Node& node() const { return g.nodes.back(); }
};

}  // namespace

TEST(PaperBackend, workspaces_of_products_come_from_the_facts_or_are_bounded_and_told) {
  const Product p;
  DeviceFacts facts = hopper();
  const auto unknown = make_paper_backend(facts);
  EXPECT_EQ(unknown->workspace_bytes(p.g, p.node()), i64{32} << 20);
  ASSERT_EQ(unknown->bounded().size(), 1u);
  const std::string line = unknown->bounded()[0];
  const std::string problem = "256x512x128 a bf16 128:1 b bf16 1:128 y bf16 512:1";
  EXPECT_NE(line.find(problem), line.npos) << line;
  facts.product_workspaces[problem] = 4096;
  const auto known = make_paper_backend(facts);
  EXPECT_EQ(known->workspace_bytes(p.g, p.node()), 4096);
  EXPECT_TRUE(known->bounded().empty());
}

TEST(PaperBackend, its_interpreter_runs_against_the_clock) {
  const Product p;
  DeviceFacts facts = hopper();
  facts.hbm_gbps = 1e6;  // arithmetic bounds even a product of this size
  const auto backend = make_paper_backend(facts);
  const Plan plan = plan_memory(p.g.mesh, {{"p", &p.g, {Phase::forward}}},
                                [&](const Graph& g, const Node& n) { return backend->workspace_bytes(g, n); });
  const auto interpreter = backend->make_interpreter(plan, Coord{});
  interpreter->run(0, true), interpreter->run(0, true);
  const double one = 2.0 * 256 * 512 * 128 / (600e12);
  EXPECT_NEAR(interpreter->busy_seconds(), 2 * one, 1e-15);
  EXPECT_EQ(interpreter->busy_seconds(), 0);
  EXPECT_NEAR(interpreter->time_instructions(0).at(0), one, 1e-15);
}

// With NVLink a group of a node takes page tables, else a communicator of NCCL. So does a group of several stages.
TEST(PaperBackend, groups_of_a_node_need_page_tables_and_others_need_nccl) {
  DeviceFacts facts = hopper();
  facts.node_gpus = 8, facts.node.gbps = 450, facts.pcie_gbps = 50;
  facts.nccl_bytes = 1000, facts.nccl_bytes_each = 10;
  const auto fixed = [&](const MeshSizes& sizes, AxisSet axes, bool symmetric) {
    Graph g;
    g.mesh = make_mesh(sizes);
    Builder b(g);
    Type t{DType::f32, {1 << 20}, whole(1)};
    t.layout.partial = axes;
    g.outputs["sum"] = b.relayout(b.leaf({"x", t}), axes, kSame);
    const auto backend = make_paper_backend(facts, symmetric);
    const Plan plan = plan_memory(g.mesh, {{"p", &g, {Phase::forward}}}, [](auto&, auto&) { return i64{0}; });
    backend->connect(plan, Coord{}, {});
    return std::pair(backend->fixed_bytes() - facts.reserved_bytes, plan.arena_bytes);
  };
  constexpr i64 kNccl = 1000 + 32 * 10;
  const auto [tables, arena] = fixed({.dp = 4}, groups::data, true);
  EXPECT_EQ(tables, 3 * ((arena + 4095) / 4096 * 8));
  EXPECT_EQ(fixed({.dp = 4}, groups::data, false).first, kNccl);
  EXPECT_EQ(fixed({.dp = 16}, groups::data, true).first, kNccl) << "two nodes";
  EXPECT_EQ(fixed({.pp = 2}, groups::pipeline, true).first, kNccl) << "two stages";
  facts.node.gbps = 25;
  EXPECT_EQ(fixed({.dp = 4}, groups::data, true).first, kNccl) << "no NVLink";
}

TEST(PaperBackend, a_file_of_a_cpu_is_no_gpu) {
  EXPECT_NE(error_of([] { make_paper_backend({}); }), "");
}

}  // namespace megalith::sim
