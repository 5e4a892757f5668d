// The backward of a mixture would compute some values again. If they are kept, they are computed once. tests/models
// verifies that no bit changes.
#include <gtest/gtest.h>

#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "small_models.h"

namespace megalith {

namespace {

Graph mixture(const std::set<std::string>& off) {
  ModelConfig c = llama();
  c.moe.num_experts = 4;
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  BuildMode mode;
  mode.batch = 2;
  const Built gpt = Gpt(c, {.sequence_parallel = true}).build_whole(b, mode);
  add_gradients(b, gpt.parameters, gpt.terms);
  run_passes(g, standard_passes(), off);
  return g;
}

// The number of nodes that gather tokens for experts, and the number that repeat a gather of the forward.
struct Gathers {
  int all = 0, again = 0;
};
Gathers gathers(const Graph& g) {
  std::set<std::vector<Value>> forward;
  Gathers out;
  for (const Node& n : g.nodes) {
    if (n.op.name() != GatherRows::name) continue;
    ++out.all, out.again += !forward.insert(n.ins).second;
  }
  return out;
}

}  // namespace

TEST(KeepRepeated, rows_of_experts_are_gathered_once) {
  const Gathers again = gathers(mixture({"keep-repeated", "rematerialize"})),
                kept = gathers(mixture({"rematerialize"}));
  EXPECT_EQ(again.again, kLayers);  // for the gradients of the experts' first weights
  EXPECT_EQ(kept.again, 0);
  EXPECT_EQ(again.all - kept.all, kLayers);
}

}  // namespace megalith
