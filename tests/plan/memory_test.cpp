// The memory pass on random graphs and on a GPT. Whether a layout works is decided by playing the program: who wrote
// each piece of the arena last.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "models/gpt/gpt.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/scale.h"
#include "ops/update.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "passes/pass.h"
#include "plan/plan.h"

namespace megalith {

namespace {

Type vector_of(i64 n) { return {DType::f64, {n}, whole(1)}; }
i64 some_workspace(const Graph&, const Node& n) { return n.op.get_if<Einsum>() ? 1000 : 0; }
Plan plan_of(const Graph& g) {
  return plan_memory(g.mesh, {{"all", &g, {Phase::forward, Phase::backward, Phase::update}}}, some_workspace);
}

// Ops with and without in-place results over vectors of a few sizes, each reading random earlier values.
Graph random_graph(u64 seed, int nodes) {
  std::mt19937_64 rng(seed);
  Graph g;
  Builder b(g);
  std::vector<Value> values;
  const i64 sizes[] = {8, 24, 64, 200, 1000};
  for (i64 n : sizes) values.push_back(b.leaf({fmt::format("leaf{}", n), vector_of(n)}));
  for (int i = 0; i < nodes; ++i) {
    const Value x = values[values.size() - 1 - rng() % std::min<size_t>(values.size(), 12)];
    std::vector<Value> alike;
    for (Value v : values)
      if (b.type(v) == b.type(x)) alike.push_back(v);
    const Value y = alike[rng() % alike.size()];
    switch (rng() % 4) {
      case 0:
        values.push_back(b.add1(Scale{1, 2.0}, {x}));
        break;
      case 1:
        values.push_back(b.add1(AddGrad{1}, {x, y}));
        break;
      case 2:
        values.push_back(einsum(b, "a,a->a", x, y));
        break;
      case 3:
        values.push_back(einsum(b, "a,b->b", x, values[rng() % values.size()]));
        break;
    }
  }
  for (int i = 0; i < 3; ++i) g.outputs[fmt::format("out{}", i)] = values[values.size() - 1 - i * 5];
  return g;
}

// Plays a program on an arena that knows the writer of each of its pieces. "" or what goes wrong.
class Game {
 public:
  explicit Game(const Plan& plan) : plan_(plan), owner_(size_t(plan.arena_bytes / kPiece + 1), -1) {}

  std::string play(const Program& p) {
    views_.clear();
    for (const Instruction& in : p.instructions)
      for (const Alias& a : in.op.aliases())
        if (a.view) views_[in.outs[a.out]] = id(p, in.ins[a.in]);
    for (size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].leaf >= 0) write(p.buffers[b], leaf_id(p.buffers[b]));
    for (size_t i = 0; i < p.instructions.size(); ++i) {
      const Instruction& in = p.instructions[i];
      for (int b : in.ins)
        if (!holds(p, b)) return fmt::format("instruction {} reads b{}, which was overwritten", i, b);
      if (in.workspace_bytes) fill(in.workspace, in.workspace_bytes, -2);
      for (int b : in.outs) write(p.buffers[b], id(p, b));
      for (size_t k = 0; k < in.ins.size(); ++k)
        if (!may_be_overwritten(in, int(k)) && !holds(p, in.ins[k]))
          return fmt::format("instruction {} overwrites its own input b{}", i, in.ins[k]);
      for (int b : in.outs)
        if (!holds(p, b)) return fmt::format("instruction {}: results overlap", i);
    }
    for (auto& [name, b] : p.outputs)
      if (!holds(p, b)) return fmt::format("output {} was overwritten", name);
    return "";
  }

 private:
  static constexpr i64 kPiece = 8;
  static int leaf_id(const Buffer& b) { return 1000000 + b.leaf; }
  int id(const Program& p, int b) const {  // of what it holds: a view holds what its original does
    const auto view = views_.find(b);
    return p.buffers[b].leaf >= 0 ? leaf_id(p.buffers[b]) : view == views_.end() ? b : view->second;
  }
  bool may_be_overwritten(const Instruction& in, int k) const {
    const auto aliases = in.op.aliases();
    return std::any_of(aliases.begin(), aliases.end(), [&](const Alias& a) { return a.in == k; });
  }
  void fill(i64 offset, i64 bytes, int who) {
    for (i64 at = offset / kPiece; at < (offset + bytes + kPiece - 1) / kPiece; ++at) owner_.at(size_t(at)) = who;
  }
  void write(const Buffer& b, int who) { fill(b.offset, b.bytes, who); }
  bool holds(const Program& p, int b) const {
    const Buffer& buffer = p.buffers[b];
    for (i64 at = buffer.offset / kPiece; at < (buffer.offset + buffer.bytes + kPiece - 1) / kPiece; ++at)
      if (owner_.at(size_t(at)) != id(p, b)) return false;
    return true;
  }

  const Plan& plan_;
  std::vector<int> owner_;
  std::map<int, int> views_;
};

// The most bytes that are live at once, counting what shares memory in place once: no plan can take less.
i64 live_peak(const Program& p) {
  i64 most = 0;
  for (int i = 0; i < int(p.instructions.size()); ++i) {
    i64 now = align_up(p.instructions[i].workspace_bytes);
    std::vector<std::pair<i64, i64>> seen;
    for (const Buffer& b : p.buffers) {
      if (b.leaf >= 0 || b.first > i || b.last < i) continue;
      const std::pair<i64, i64> place = {b.offset, b.bytes};
      if (std::find(seen.begin(), seen.end(), place) != seen.end()) continue;  // in place
      seen.push_back(place);
      now += align_up(b.bytes);
    }
    most = std::max(most, now);
  }
  return most;
}

Graph small_gpt(const Mesh& mesh, bool passes) {
  ModelConfig c;
  c.num_layers = 4, c.hidden_size = 64, c.ffn_hidden_size = 256, c.num_attention_heads = c.num_query_groups = 4;
  c.kv_channels = 16, c.seq_length = c.max_position_embeddings = 32, c.vocab_size = 500, c.padded_vocab_size = 512;
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  BuildMode mode;
  mode.batch = 4;
  const Built gpt = Gpt(c).build_whole(b, mode);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, {});
  if (passes) run_passes(g, standard_passes());
  return g;
}

}  // namespace

TEST(Memory, nothing_is_overwritten_while_it_is_needed) {
  for (u64 seed = 0; seed < 60; ++seed) {
    const Plan p = plan_of(random_graph(seed, 20 + int(seed) * 3));
    EXPECT_EQ(Game(p).play(p.programs[0]), "") << "seed " << seed;
  }
}

TEST(Memory, the_verifier_notices_every_offset_that_breaks_a_program) {
  std::mt19937_64 rng(1);
  int broken = 0;
  for (u64 seed = 0; seed < 40; ++seed) {
    const Plan good = plan_of(random_graph(seed, 60));
    for (int trial = 0; trial < 40; ++trial) {
      Plan bad = good;
      Program& p = bad.programs[0];
      Buffer& b = p.buffers[rng() % p.buffers.size()];
      if (b.leaf >= 0) continue;
      b.offset =
          bad.leaf_bytes + align_up(i64(rng() % u64(std::max<i64>(1, bad.arena_bytes - bad.leaf_bytes - b.bytes))));
      if (b.offset + b.bytes > bad.arena_bytes) continue;
      const std::string wrong = Game(bad).play(p);
      if (wrong.empty()) continue;
      EXPECT_THROW(verify(bad), Error) << wrong;
      ++broken;
    }
  }
  std::cout << broken << " broken programs, all noticed\n";
  EXPECT_GT(broken, 200);
}

TEST(Memory, the_verifier_notices_other_damage) {
  const Plan good = plan_of(random_graph(3, 40));
  auto damaged = [&](auto&& f) {
    Plan p = good;
    f(p);
    EXPECT_THROW(verify(p), Error);
  };
  damaged([](Plan& p) { p.programs[0].buffers[p.programs[0].instructions[0].outs[0]].offset = p.arena_bytes; });
  damaged([](Plan& p) { p.leaves[1].offset = p.leaves[0].offset; });
  damaged([](Plan& p) { std::reverse(p.programs[0].instructions.begin(), p.programs[0].instructions.end()); });
  damaged([](Plan& p) {
    for (Instruction& in : p.programs[0].instructions)
      if (in.workspace_bytes) in.workspace = p.arena_bytes;
  });
  damaged([](Plan& p) {
    for (Instruction& in : p.programs[0].instructions)
      if (in.workspace_bytes) in.workspace = p.programs[0].buffers[in.outs[0]].offset;
  });
}

TEST(Memory, results_take_over_their_input_where_the_op_allows_it) {
  Graph g;
  Builder b(g);
  Value x = b.leaf({"x", vector_of(100)});
  x = b.add1(Scale{1, 2.0}, {x});
  const Value first = x;
  for (int i = 0; i < 10; ++i) x = b.add1(Scale{1, 2.0}, {x});
  g.outputs["y"] = x;
  EXPECT_EQ(plan_of(g).programs[0].activation_bytes, align_up(800));  // one buffer, never the leaf's
  g.outputs["first"] = first;                                         // read later: the second scale needs its own
  EXPECT_EQ(plan_of(g).programs[0].activation_bytes, 2 * align_up(800));
}

TEST(Memory, no_taking_over_of_an_input_read_twice_or_of_another_size) {
  Graph g;
  Builder b(g);
  const Value x = b.add1(Scale{1, 2.0}, {b.leaf({"x", vector_of(100)})});
  g.outputs["y"] = b.add1(AddGrad{1}, {x, x});
  const Plan p = plan_of(g);
  EXPECT_EQ(p.programs[0].activation_bytes, 2 * align_up(800));
  EXPECT_EQ(Game(p).play(p.programs[0]), "");
}

TEST(Memory, accumulators_are_updated_where_they_lie) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", vector_of(10)}), acc = b.leaf({"acc", vector_of(10), Role::gradient});
  g.outputs["acc"] = b.add1(Accumulate{1, true}, {acc, x});
  const Plan p = plan_of(g);
  EXPECT_EQ(p.programs[0].buffers[p.programs[0].outputs.at("acc")].offset, p.leaf("acc").offset);
  EXPECT_EQ(p.programs[0].activation_bytes, 0);
}

TEST(Memory, the_arena_is_close_to_the_most_that_lives_at_once) {
  for (u64 seed = 0; seed < 30; ++seed) {
    const Plan p = plan_of(random_graph(seed, 200));
    EXPECT_LE(double(p.programs[0].activation_bytes), 1.1 * double(live_peak(p.programs[0]))) << seed;
  }
  for (const Mesh& mesh : {make_mesh({}), make_mesh({2, 1, 2, 1})}) {
    const Graph g = small_gpt(mesh, true);
    const Plan p =
        plan_memory(mesh, {{"micro-batch", &g, {Phase::forward, Phase::backward}}, {"update", &g, {Phase::update}}},
                    some_workspace);
    for (const Program& program : p.programs) {
      EXPECT_LE(double(program.activation_bytes), 1.1 * double(live_peak(program))) << program.name;
      EXPECT_EQ(Game(p).play(program), "") << program.name;
    }
    EXPECT_EQ(p.arena_bytes, p.leaf_bytes + std::max(p.programs[0].activation_bytes, p.programs[1].activation_bytes));
  }
}

TEST(Memory, falls_layer_by_layer_in_the_backward) {
  const Graph g = small_gpt(make_mesh({}), true);
  const Plan plan = plan_of(g);
  const Program& p = plan.programs[0];
  std::map<std::string, int> begin;  // of each part's backward
  for (int i = 0; i < int(p.instructions.size()); ++i)
    if (p.instructions[i].phase == Phase::backward) begin.emplace(to_string(p.instructions[i].origin), i);
  std::vector<i64> live;  // before each layer's backward
  for (int layer = 3; layer >= 0; --layer) {
    const int next = begin.at(fmt::format("layer {} mlp", layer));
    live.push_back(0);
    for (const Buffer& b : p.buffers)
      if (b.leaf < 0 && b.first < next && b.last >= next) live.back() += b.bytes;
  }
  const i64 layer = live[0] - live[1];
  EXPECT_GT(layer, 0);
  for (int i = 1; i < 3; ++i) EXPECT_NEAR(double(live[i] - live[i + 1]), double(layer), 0.01 * double(layer));
  EXPECT_LT(double(live[3]), 1.2 * double(layer));  // and the gradient of its result
}

TEST(Memory, a_leaf_is_one_in_all_programs) {
  Graph g, h;
  Builder b(g), c(h);
  g.outputs["y"] = b.add1(Scale{1, 2.0}, {b.leaf({"x", vector_of(10)})});
  h.outputs["y"] = c.add1(Scale{1, 3.0}, {c.leaf({"x", vector_of(10)})});
  const Plan p = plan_memory({}, {{"one", &g, {Phase::forward}}, {"two", &h, {Phase::forward}}}, some_workspace);
  EXPECT_EQ(p.leaves.size(), 1u);
  EXPECT_EQ(p.program("two").buffers[0].leaf, 0);
  EXPECT_THROW(p.program("three"), Error);
  EXPECT_THROW(p.leaf("z"), Error);
  Graph other;
  Builder d(other);
  other.outputs["y"] = d.add1(Scale{1, 3.0}, {d.leaf({"x", vector_of(20)})});
  EXPECT_THROW(plan_memory({}, {{"one", &g, {Phase::forward}}, {"two", &other, {Phase::forward}}}, some_workspace),
               Error);
}

// As a pipeline's forward and backward: values that the second reads of the first have a copy for each micro-batch in
// flight. So have values that are sent; the same for what comes in.
TEST(Memory, what_another_program_reads_is_kept_in_slots) {
  Graph g;
  Builder b(g);
  const Value x = b.leaf({"x", vector_of(10)});
  const Value kept = b.add1(Scale{1, 2.0}, {x}), passing = b.add1(Scale{1, 3.0}, {kept});
  g.outputs["out"] = b.add1(Scale{1, 4.0}, {passing});
  b.set_phase(Phase::backward);
  g.outputs["y"] = b.add1(Scale{1, 5.0}, {kept});
  const Plan p =
      plan_memory({}, {{"one", &g, {Phase::forward}, 3, {"out"}}, {"two", &g, {Phase::backward}, 3}}, some_workspace);
  EXPECT_EQ(p.leaf("out").slots, 3);
  EXPECT_EQ(p.leaf("x").slots, 3);
  EXPECT_EQ(p.bytes(Role::kept), 2 * 3 * align_up(80));
  const Program &one = p.programs[0], &two = p.programs[1];
  const Buffer& written = one.buffers[size_t(one.instructions[0].outs[0])];
  EXPECT_EQ(written.offset, two.buffers[size_t(two.instructions[0].ins[0])].offset);
  EXPECT_EQ(p.slot_stride(written), align_up(80));
  EXPECT_EQ(one.activation_bytes, align_up(80));  // what neither keeps
  EXPECT_EQ(Game(p).play(one), "");
  EXPECT_EQ(Game(p).play(two), "");
}

TEST(Memory, tables_and_listings_name_what_there_is) {
  const Graph g = small_gpt(make_mesh({}), true);
  const Plan p = plan_of(g);
  EXPECT_NE(memory_table(p).find("parameter"), std::string::npos);
  EXPECT_NE(print(p).find("einsum"), std::string::npos);
  EXPECT_EQ(p.bytes(Role::parameter) > 0, true);
}

}  // namespace megalith
