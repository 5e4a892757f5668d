#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "tests/error_of.h"
#include "tests/harness/rank_set.h"
#include "tests/passes/count_ops.h"

namespace megalith {

namespace {

Graph training_graph(const Mesh& mesh) {
  ModelConfig c;
  c.num_layers = 2, c.hidden_size = 16, c.ffn_hidden_size = 32, c.num_attention_heads = c.num_query_groups = 4;
  c.kv_channels = 4, c.seq_length = c.max_position_embeddings = 8, c.vocab_size = 50, c.padded_vocab_size = 52;
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  BuildMode mode;
  mode.batch = 2;
  const Built gpt = Gpt(c, ParallelStyle{true}).build_whole(b, mode);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, {});
  return g;
}

Type f64_type(Shape shape) {
  const size_t n = shape.size();
  return {DType::f64, std::move(shape), whole(n)};
}

}  // namespace

TEST(Passes, what_breaks_a_graph_is_noticed) {
  for (const bool tells : {true, false}) {
    const auto spoil = [&](Graph& g) {
      std::swap(g.nodes.front(), g.nodes.back());
      return tells;
    };
    const auto nothing = [](Graph&) { return false; };
    Graph g = training_graph(make_mesh({}));
    const std::string error = error_of([&] {
      run_passes(g, {{"first", nothing}, {"spoil", spoil}, {"last", nothing}});
    });
    EXPECT_TRUE(
        error.starts_with(tells ? "after pass spoil: verify: node" : "after pass first, spoil, last: verify: node"))
        << error;
    Graph same = training_graph(make_mesh({}));  // a search does not verify the graph
    EXPECT_EQ(error_of([&] { run_passes(same, {{"spoil", spoil}}, {"verify"}); }), "");
  }
}

TEST(Passes, unit_axes_and_their_relayouts_vanish) {
  Graph g = training_graph(make_mesh({}));
  EXPECT_GT(count_ops<Relayout>(g), 10);
  EXPECT_TRUE(erase_unit_axes(g));
  EXPECT_NO_THROW(verify(g));
  EXPECT_EQ(count_ops<Relayout>(g), 0);
  for (const ValueInfo& v : g.values) EXPECT_EQ(v.type.layout, whole(v.type.shape.size())) << v.name;
  EXPECT_FALSE(erase_unit_axes(g));
}

// A value that is written to a leaf must be copied there. That holds even if no other rank has a part of it.
TEST(Passes, a_move_into_a_leaf_over_one_rank_is_a_copy) {
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  b.set_phase(Phase::update);
  Type sum = f64_type({4});
  sum.layout.partial = groups::data;
  const Value x = b.leaf({"x", sum, Role::gradient}), to = b.leaf({"to", f64_type({4}), Role::gradient});
  b.wait(b.move_into(x, groups::data, kSame, to, 1));
  erase_unit_axes(g);
  EXPECT_NO_THROW(verify(g));
  EXPECT_EQ(count_ops<PutBack>(g), 1);
  EXPECT_EQ(g.nodes.size(), 1u);
}

TEST(Passes, axes_of_several_ranks_stay) {
  Graph g = training_graph(make_mesh({1, 1, 2, 1}));
  erase_unit_axes(g);
  EXPECT_NO_THROW(verify(g));
  EXPECT_GT(count_ops<Relayout>(g), 10);
  for (const Node& n : g.nodes)
    if (const auto* r = n.op.get_if<Relayout>()) EXPECT_EQ(to_string(r->axes, g.mesh.used()), "tp_kv");
}

TEST(Passes, every_weight_gradient_is_added_by_its_producer) {
  Graph g = training_graph(make_mesh({}));
  const int before = count_ops<Accumulate>(g);
  run_passes(g, standard_passes(), {"multi-tensor"});
  int fused = 0;
  for (const Node& n : g.nodes)
    if (const auto* e = n.op.get_if<Einsum>()) fused += e->accumulate;
  EXPECT_EQ(fused, 2 * 6 + 1);  // six matrices per layer, and the output layer's use of the embedding table
  for (const Node& n : g.nodes)
    if (const auto* e = n.op.get_if<EmbeddingGrad>()) EXPECT_TRUE(e->accumulate);
  EXPECT_EQ(count_ops<Accumulate>(g), before - 2 * 6 - 2);  // also for the two embedding tables
}

// Computes acc + (x w + the table's gradient) over two micro-batches, with the pass and without.
TEST(Passes, fused_accumulation_gives_the_same_sums) {
  auto run = [](bool fuse) {
    Graph g;
    Builder b(g);
    const Value x = b.leaf({"x", f64_type({3, 5})}), y = b.leaf({"y", f64_type({3, 4})});
    const Value ids = b.leaf({"ids", {DType::i32, {3, 1}, whole(2)}}), dy = b.leaf({"dy", f64_type({3, 1, 4})});
    const Value table = b.leaf({"table", f64_type({5, 4})}), acc = b.leaf({"acc", f64_type({5, 4}), Role::gradient});
    b.set_phase(Phase::backward);
    const Value a = b.add1(Einsum{"sh,sf->hf", DType::f64}, {x, y});
    const Value c = b.add1(EmbeddingGrad{DType::f64}, {ids, dy, table});
    const Value d = b.add1(Einsum{"sh,sf->hf", DType::f64}, {x, y});
    const Value sum = b.add1(AddGrad{2}, {b.add1(AddGrad{2}, {a, c}), d});
    b.add1(Accumulate{2, true}, {acc, sum});
    if (fuse) run_passes(g, standard_passes());
    EXPECT_EQ(count_ops<Accumulate>(g) + count_ops<AddGrad>(g), fuse ? 0 : 3);
    harness::RankSet r(harness::plan_graph(g));
    for (bool first : {true, false}) {
      for (const char* name : {"x", "y", "dy"})
        r.write(name, harness::random_tensor(g.type(g.find_leaf(name)).shape, hash_name(name) + first));
      r.write("ids", harness::random_integers({3, 1}, 5, first));
      if (first) r.write("acc", harness::filled({5, 4}, 99));  // a value of an earlier step
      r.run("graph", first);
    }
    return r.read("acc");
  };
  EXPECT_LT(harness::max_difference(run(true), run(false)), 1e-14);
}

TEST(Passes, a_gradient_with_another_use_is_not_fused) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", f64_type({3, 5})}), acc = b.leaf({"acc", f64_type({5, 5}), Role::gradient});
  b.set_phase(Phase::backward);
  const Value w = b.add1(Einsum{"sh,sf->hf", DType::f64}, {x, x});
  b.add1(Accumulate{2, true}, {acc, w});
  g.outputs["w"] = w;
  fuse_accumulate(g);
  EXPECT_NO_THROW(verify(g));
  EXPECT_EQ(count_ops<Accumulate>(g), 1);
}

TEST(Passes, accumulations_move_up_to_what_they_need) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", f64_type({4})}), acc = b.leaf({"acc", f64_type({4}), Role::gradient});
  b.set_phase(Phase::backward);
  const Value a = b.add1(Scale{1, 2.0}, {x});
  Value c = b.add1(Scale{1, 3.0}, {a});
  for (int i = 0; i < 3; ++i) c = b.add1(Scale{1, 3.0}, {c});
  b.add1(Accumulate{1, true}, {acc, a});
  g.outputs["c"] = c;
  EXPECT_TRUE(hoist(g));
  EXPECT_NO_THROW(verify(g));
  EXPECT_NE(g.nodes[1].op.get_if<Accumulate>(), nullptr);
  EXPECT_FALSE(hoist(g));
}

// Only other such nodes are between a weight gradient and its last operand.
TEST(Passes, weight_gradients_run_where_their_operands_are_made) {
  Graph g = training_graph(make_mesh({}));
  run_passes(g, standard_passes());
  int found = 0;
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    const auto* e = g.nodes[i].op.get_if<Einsum>();
    if (!e || !e->accumulate) continue;
    int last = 0;
    for (Value v : g.nodes[i].ins) last = std::max(last, g.info(v).node);
    for (int k = last + 1; k < i; ++k) {
      const std::vector<Alias> aliases = g.nodes[k].op.aliases();
      EXPECT_TRUE(g.nodes[k].phase == Phase::update || (!aliases.empty() && aliases[0].must)) << print(g, g.nodes[k]);
    }
    ++found;
  }
  EXPECT_GT(found, 12);
}

TEST(Passes, remove_dead_keeps_outputs_and_updates) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", f64_type({4})}), acc = b.leaf({"acc", f64_type({4}), Role::gradient});
  b.add1(Scale{1, 9.0}, {b.add1(Scale{1, 8.0}, {x})});  // nothing reads it
  g.outputs["y"] = b.add1(Scale{1, 2.0}, {x});
  b.add1(Accumulate{1, true}, {acc, b.add1(Scale{1, 3.0}, {x})});
  EXPECT_TRUE(remove_dead(g));
  EXPECT_NO_THROW(verify(g));
  EXPECT_EQ(g.nodes.size(), 3u);
  EXPECT_FALSE(remove_dead(g));
}

TEST(Passes, a_pass_that_breaks_the_graph_is_named) {
  Graph g = training_graph(make_mesh({}));
  const std::vector<Pass> passes = {{"fine", [](Graph&) { return false; }}, {"clumsy", [](Graph& h) {
                                                                               std::swap(h.nodes.front(),
                                                                                         h.nodes.back());
                                                                               return true;
                                                                             }}};
  try {
    run_passes(g, passes);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("clumsy"), std::string::npos) << e.what();
  }
  Graph h = training_graph(make_mesh({}));
  EXPECT_NO_THROW(run_passes(h, passes, {"clumsy"}));
}

TEST(Passes, can_be_switched_off_by_name_and_are_reported) {
  Graph g = training_graph(make_mesh({}));
  EXPECT_THROW(run_passes(g, standard_passes(), {"fuse-acumulate"}), Error);
  const auto reports = run_passes(g, standard_passes(), {"fuse-accumulate"});
  EXPECT_EQ(reports.size(), standard_passes().size() - 1);
  EXPECT_NE(print(reports).find("erase-unit-axes"), std::string::npos);
}

TEST(Gradients, every_parameter_must_matter) {
  Graph g;
  Builder b(g);
  Parameter used, idle;
  used.name = "used", idle.name = "idle";
  used.type = idle.type = f64_type({4});
  used.value = b.leaf({"used", used.type, Role::parameter, true});
  idle.value = b.leaf({"idle", idle.type, Role::parameter, true});
  const Value loss = b.add1(Sum{"a->", DType::f64}, {used.value}), tokens = b.leaf({"tokens", f64_type({})});
  EXPECT_THROW(add_gradients(b, {used, idle}, {{"loss", loss, tokens}}, computing_in(DType::f64)), Error);
}

}  // namespace megalith
