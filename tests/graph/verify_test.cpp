#include <gtest/gtest.h>

#include "ops/add.h"
#include "ops/scale.h"
#include "ops/update.h"
#include "tests/graph/small.h"

namespace megalith {

namespace {

Graph two_nodes() {
  Graph g;
  g.mesh = make_mesh({1, 1, 2, 1});
  Builder b(g);
  b.set_module("place");
  const Value x = leaf(b, "x", {4, 2}, kSame);
  g.outputs["y"] = b.add1(Scale{2, 2.0}, {b.add1(Scale{2, 3.0}, {x})});
  return g;
}

}  // namespace

TEST(Verify, accepts_what_the_builder_makes) { EXPECT_NO_THROW(verify(two_nodes())); }

TEST(Verify, finds_each_kind_of_damage) {
  struct Damage {
    const char* what;
    void (*apply)(Graph&);
  };
  const Damage all[] = {
      {"use before definition", [](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }},
      {"a value that does not exist", [](Graph& g) { g.nodes[1].ins[0].id = 99; }},
      {"another shape",
       [](Graph& g) {
         g.values[g.nodes[1].outs[0].id].type.shape = {2, 4};
       }},
      {"another layout", [](Graph& g) { g.values[g.nodes[1].outs[0].id].type.layout.copy = {groups::kv_heads}; }},
      {"another dtype", [](Graph& g) { g.values[g.nodes[1].outs[0].id].type.dtype = DType::f32; }},
      {"a leaf's layout changed", [](Graph& g) { g.values[0].type.layout.dims[0] = {{groups::kv_heads}}; }},
      {"a definition twice", [](Graph& g) { g.nodes.push_back(g.nodes[1]); }},
      {"a wrong node number", [](Graph& g) { g.values[g.nodes[1].outs[0].id].node = 0; }},
      {"a result missing", [](Graph& g) { g.nodes[1].outs.clear(); }},
      {"an op of another rank",
       [](Graph& g) {
         g.nodes[1].op = Scale{3, 2.0};
       }},
      {"an output that is not computed", [](Graph& g) { g.nodes.pop_back(); }},
  };
  for (const Damage& d : all) {
    Graph g = two_nodes();
    d.apply(g);
    EXPECT_THROW(verify(g), Error) << d.what;
  }
}

TEST(Verify, in_place_updates_keep_the_type) {
  Graph g;
  Builder b(g);
  b.set_phase(Phase::update);
  const Value acc = leaf(b, "acc", {4}, kCopy, false), x = leaf(b, "x", {4}, kSame, false);
  b.add1(Accumulate{1, false}, {acc, x});
  EXPECT_NO_THROW(verify(g));  // constants: Copy wins, as the accumulator says
  Graph h;
  Builder c(h);
  c.set_phase(Phase::update);
  const Value same = leaf(c, "acc", {4}, kSame, false), copy = leaf(c, "x", {4}, kCopy, false);
  c.add1(Accumulate{1, false}, {same, copy});
  EXPECT_THROW(verify(h), Error);
}

TEST(Verify, nobody_reads_what_was_updated_in_place) {
  Graph g;
  Builder b(g);
  const Value acc = leaf(b, "acc", {4}, kSame, false), x = leaf(b, "x", {4}, kSame, false);
  b.add1(Scale{1, 2.0}, {acc});
  g.outputs["sum"] = b.add1(Scale{1, 2.0}, {b.add1(Accumulate{1, false}, {acc, x})});
  EXPECT_NO_THROW(verify(g));
  b.add1(Scale{1, 2.0}, {acc});
  EXPECT_THROW(verify(g), Error);
}

TEST(Print, shows_types_phase_and_place) {
  const Graph g = two_nodes();
  const std::string text = print(g);
  for (const char* part : {"%0:x f64[4, 2]", "scale(ndim=2, k=3)", "forward place", "output y"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

}  // namespace megalith
