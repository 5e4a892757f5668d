// Tests of optimizer state in host memory that is updated in windows: the nodes that the pass makes, their positions,
// and their time.
#include "passes/stream_state.h"

#include <gtest/gtest.h>

#include <map>

#include "exec/sim/simulator.h"
#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "optim/offload.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "small_models.h"
#include "tests/harness/rank_set.h"

namespace megalith {

namespace {

struct Made {
  Graph g;
  std::vector<Parameter> parameters;
};

Made made(const OptimizerConfig& config, DType dtype, const Mesh& mesh = make_mesh({}), bool cut = false) {
  Made out;
  out.g.mesh = mesh;
  Builder b(out.g);
  BuildMode mode;
  mode.batch = 2, mode.precision = computing_in(dtype);
  const Built gpt = Gpt(llama(), ParallelStyle{true}).build_whole(b, mode);
  std::vector<Bucket> buckets;
  if (cut) buckets = make_buckets(mesh, gpt.parameters, 3000, {}, mode.precision), place_on_host(buckets, config);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms, mode.precision);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, config, mode.precision, buckets,
             {true});
  run_passes(out.g, standard_passes());
  out.parameters = gpt.parameters;
  return out;
}

OptimizerConfig offload(double fraction = 1) {
  OptimizerConfig c;
  c.optimizer_cpu_offload = true, c.optimizer_offload_fraction = fraction;
  return c;
}

Plan streamed_plan(const Graph& g) {
  return plan_memory(g.mesh, {{"step", &g, {Phase::forward, Phase::backward, Phase::update}}}, cpu::workspace_bytes);
}

// For each leaf: how often nodes of this op have each element in their window. The leaves of an op begin at input
// `first`.
template <class Op>
std::map<std::string, std::vector<int>> touched(const Graph& g, size_t first) {
  std::map<std::string, std::vector<int>> out;
  for (const Node& n : g.nodes) {
    const auto* op = n.op.get_if<Op>();
    if (!op) continue;
    for (size_t i = first; i < n.ins.size(); ++i) {
      const ValueInfo& leaf = g.info(n.ins[i]);
      const auto& [begin, count] = op->window.stretches[(i - first) / size_t(op->window.states())];
      auto& times = out[leaf.name];
      times.resize(size_t(local_type(g.mesh, leaf.type).elements()));
      for (i64 k = begin; k < begin + count; ++k) ++times[size_t(k)];
    }
  }
  return out;
}

template <class Op>
std::vector<int> places_of(const Graph& g) {
  std::vector<int> out;
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (g.nodes[i].op.get_if<Op>()) out.push_back(i);
  return out;
}

// The index of the wait for a transfer on a lane.
int end_of(const Graph& g, int begun) {
  for (int i = begun; i < int(g.nodes.size()); ++i)
    if (g.nodes[i].op.get_if<Wait>() && g.nodes[i].ins[0] == g.nodes[begun].outs[0]) return i;
  return -1;
}

}  // namespace

TEST(StreamState, every_element_is_fetched_and_stored_once) {
  for (const bool cut : {false, true})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const bool overlap : {false, true})
        for (const i64 window : {0, 64, 1000, 1 << 20}) {
          const Mesh mesh = cut ? make_mesh({2, 1, 2, 1}) : make_mesh({1, 1, 2, 1});
          Graph g = made(offload(), dtype, mesh, cut).g;
          EXPECT_TRUE(stream_state(g, {overlap, window}));
          verify(g);
          size_t on_host = 0;
          for (const ValueInfo& v : g.values) on_host += v.node < 0 && v.host;
          ASSERT_GT(on_host, 4u);
          for (const auto& leaves : {touched<FetchState>(g, 0), touched<StoreState>(g, 1)}) {
            EXPECT_EQ(leaves.size(), on_host);
            for (const auto& [name, times] : leaves) EXPECT_EQ(std::ranges::count(times, 1), i64(times.size())) << name;
          }
          for (const Node& n : g.nodes) {
            const auto* op = n.op.get_if<Update>();
            EXPECT_TRUE(!op || !g.info(n.ins[2]).host) << print(g, n);
          }
        }
}

TEST(StreamState, three_windows_are_on_their_way_at_once) {
  Graph g = made(offload(), DType::bf16).g;
  stream_state(g, {true});
  const std::vector<int> fetches = places_of<FetchState>(g), stores = places_of<StoreState>(g),
                         updates = places_of<WindowUpdate>(g), norm = places_of<StepScalars>(g);
  ASSERT_EQ(fetches.size(), 16u);
  ASSERT_EQ(stores.size(), 16u);
  EXPECT_LT(fetches[1], norm.at(0)) << "two are fetched beside the norm";
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_LT(end_of(g, fetches[i]), updates[i]);
    EXPECT_LT(updates[i], stores[i]);
    if (i + 3 < 16) {
      EXPECT_LT(end_of(g, stores[i]), fetches[i + 3]) << "a fourth window before the first is stored";
    }
    if (i + 1 < 16) {
      EXPECT_LT(fetches[i + 1], end_of(g, stores[i])) << "one direction waits for the other";
    }
  }
}

// Windows use the memory of freed activations, so the plan is smaller by all offloaded state. (On the host a main
// weight is f32, 4 bytes. On the device it has 2 bytes, the low half. Gradients of state on the host have no row
// marks.)
TEST(StreamState, the_device_keeps_no_more_than_windows) {
  Graph here = made({}, DType::bf16).g, there = made(offload(), DType::bf16).g,
        half = made(offload(0.5), DType::bf16).g;
  stream_state(there, {true}), stream_state(half, {true});
  const Plan a = streamed_plan(here), b = streamed_plan(there), c = streamed_plan(half);
  EXPECT_EQ(a.host_bytes, 0);
  EXPECT_EQ(b.host_bytes, b.bytes(Role::main_parameter, true) + b.bytes(Role::optimizer, true));
  const auto here_of = [](const Plan& p) {
    return p.bytes(Role::main_parameter) + p.bytes(Role::optimizer) + p.bytes(Role::gradient);
  };
  EXPECT_EQ(b.arena_bytes, a.arena_bytes - (here_of(a) - here_of(b)));
  EXPECT_EQ(c.arena_bytes, a.arena_bytes - (here_of(a) - here_of(c)));
  EXPECT_GE(c.host_bytes, b.host_bytes / 2);
  EXPECT_LT(c.host_bytes, b.host_bytes);
}

TEST(StreamState, the_first_matrices_go_until_the_fraction_is_there) {
  const std::vector<Parameter> parameters = made({}, DType::bf16).parameters;
  i64 all = 0;
  for (const Parameter& p : parameters) all += p.type.elements();
  for (const double fraction : {0.0, 0.01, 0.5, 1.0}) {
    const std::vector<bool> host = on_host(parameters, offload(fraction));
    i64 there = 0, without_last = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_TRUE(!host[i] || parameters[i].type.ndim() > 1) << parameters[i].name;
      if (host[i]) without_last = there, there += parameters[i].type.elements();
    }
    EXPECT_EQ(fraction > 0, there > 0);
    if (fraction < 1) {
      EXPECT_GE(double(there), fraction * double(all));
      EXPECT_LE(double(without_last), fraction * double(all));
    }
  }
}

// On two ranks, windows of divided state have each rank's part. Gradients must be summed before the first window.
TEST(StreamState, a_window_keeps_to_the_layout_of_its_leaves) {
  const auto leaf = [](const char* name, DType dtype, State tensor, State data) {
    Type t{dtype, {64, 8}, whole(2)};
    if (tensor.is_split()) t.layout.dims[size_t(tensor.dim)].add({groups::kv_heads});
    if (data == kPartial) t.layout.partial.insert(groups::data);
    if (data == kCopy) t.layout.copy.insert(groups::data);
    return LeafSpec{name, t, Role::optimizer};
  };
  const auto tried = [&](State state, State other, State gradient, State sum) -> std::string {
    Graph g;
    g.mesh = make_mesh({2, 1, 2, 1});
    Builder b(g);
    b.set_phase(Phase::update);
    const Window window{{DType::f32, DType::f32}, {{0, 128}}};
    const Value scalars = b.leaf({"s", {DType::f64, {4}, whole(1)}}),
                step_scalars_in = b.leaf({"h", {DType::f64, {4}, whole(1)}});
    try {
      const Value m = b.leaf(leaf("m", DType::f32, state, kCopy)), v = b.leaf(leaf("v", DType::f32, other, kCopy));
      const Value fetched = b.add1(FetchState{0, window}, {m, v});
      EXPECT_EQ(b.type(fetched).shape, Shape({state.is_split() ? 2 : 1, 256}));
      const std::vector<Value> after =
          b.add(WindowUpdate{.rule = AdamW{}, .window = window},
                {fetched, scalars, step_scalars_in, b.leaf(leaf("g", DType::f32, gradient, sum)),
                 b.leaf(leaf("w", DType::f32, state, kCopy))});
      b.add(StoreState{0, window}, {after[0], m, v});
      verify(g);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  };
  for (const State s : {kSame, split(0), split(1)}) EXPECT_EQ(tried(s, s, s, kSame), "");
  EXPECT_NE(tried(split(0), kSame, split(0), kSame).find("a window over"), std::string::npos);
  EXPECT_NE(tried(split(0), split(0), kSame, kSame).find("updates"), std::string::npos);
  EXPECT_NE(tried(kSame, kSame, split(0), kSame).find("updates"), std::string::npos);
  EXPECT_NE(tried(split(0), split(0), split(1), kSame).find("their gradient"), std::string::npos);
  EXPECT_NE(tried(kSame, kSame, kSame, kPartial).find("updates"), std::string::npos);
}

// Each of 16 windows takes as long on the bus as the other work. In sequence these are 32 transfers; overlapped, they
// take the time of 17.
TEST(StreamState, the_simulator_sees_both_directions_at_once) {
  sim::Hardware hw{"only a bus", 1e30, 1e30, 1e30, 1e30, 0};
  hw.host_bytes = 1e9;
  const auto seconds = [&](bool overlap) {
    Graph g = made(offload(), DType::bf16).g;
    stream_state(g, {overlap});
    const Plan plan = streamed_plan(g);
    double bytes = 0;
    for (const Instruction& in : plan.programs[0].instructions)
      if (in.op.get_if<FetchState>()) bytes += double(plan.programs[0].buffers[size_t(in.outs[0])].bytes);
    return sim::simulate(plan, plan.programs[0], hw).total.seconds / (bytes / hw.host_bytes);
  };
  EXPECT_NEAR(seconds(false), 2, 1e-9);
  EXPECT_NEAR(seconds(true), 17.0 / 16, 0.01);
}

}  // namespace megalith
