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

TEST(PaperBackend, a_file_of_a_cpu_is_no_gpu) {
  EXPECT_NE(error_of([] { make_paper_backend({}); }), "");
}

}  // namespace megalith::sim
