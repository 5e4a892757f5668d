// Tests the cost of transfers of activations to host memory and back, and the choice of activations by that cost.
#include "passes/bus_clock.h"

#include <gtest/gtest.h>

#include "exec/sim/simulator.h"
#include "offloaded_graph.h"

namespace megalith {

namespace {

// A clock on which each node takes a second, and a transfer takes its time on the bus.
class NodesClock final : public sim::Clock {
 public:
  explicit NodesClock(double bus) : bus_(bus) {}
  sim::Took seconds(const Plan& plan, const Program& p, const Instruction& in) const override {
    if (!in.op.get_if<HostStore>() && !in.op.get_if<HostFetch>()) return {1};
    return {0, cost_of(plan, p, in).bytes / bus_};
  }
  double send(double, int, int) const override { return 0; }

 private:
  double bus_;
};

double waited(const Graph& g, double bus) {
  const Plan plan = planned(g);
  return sim::simulate(plan, plan.programs[0], NodesClock(bus)).by_op["wait"].seconds;
}

}  // namespace

// If the bus is far too slow, the device waits. At any time only a few layers' values are in transfer.
TEST(BusClock, a_slow_bus_does_not_fill_the_arena) {
  Graph g = trained(llama(), 12);
  const i64 before = planned(g).programs[0].activation_bytes;
  OffloadSpec spec = of({"attn_norm", "core_attn", "mlp_norm", "mlp_act"});
  spec.rates = bus(1e4);
  const OffloadReport r = offload_activations(g, spec);
  EXPECT_GT(r.wait, 0);
  EXPECT_LE(planned(g).programs[0].activation_bytes, before - total(r) * 8 / 11);
}

// The predicted wait of the clock must equal the wait in the simulator.
TEST(BusClock, the_simulator_sees_what_is_waited_for) {
  const std::vector<std::string> all = {"attn_norm", "core_attn", "mlp_norm", "mlp_act"};
  const Graph plain = trained(llama(), 12);
  for (const auto& [modules, fraction, nodes] : {std::tuple(all, 0.5, 3.0),
                                                 {all, 0.3, 3.0},
                                                 {all, 1.0, 1.0},
                                                 {all, 1.0, 10.0},
                                                 {{}, 1.0, 0.9},
                                                 {{}, 1.0, 2.0}}) {
    Graph g = plain;
    OffloadSpec spec = of(modules);
    spec.config.fraction = fraction, spec.rates = bus(nodes);
    const OffloadReport r = offload_activations(g, spec);
    EXPECT_NEAR(waited(g, spec.rates.bus), r.wait, 0.1 * r.wait + 1) << fraction << " of a bus of " << nodes;
  }
}

// At the end of the forward, values of half of the layers are still in transfer. So the device waits there.
TEST(BusClock, half_of_the_layers_hold_nothing_up_before_the_end) {
  Graph g = trained(llama(), 12);
  OffloadSpec spec = of({"attn_norm", "core_attn", "mlp_norm", "mlp_act"});
  spec.config.fraction = 0.5, spec.rates = bus(2);
  const OffloadReport r = offload_activations(g, spec);
  EXPECT_GT(r.on_bus, r.forward);
  EXPECT_LE(r.wait, r.on_bus - r.forward + 30)
      << "the first value is made, and the last is read, after a layer's start";
}

TEST(BusClock, without_names_what_the_bus_carries_goes) {
  i64 last = -1;
  std::vector<i64> all;
  for (const double nodes : {1e4, 8.0, 4.0, 2.0, 0.001}) {
    Graph g = trained(llama(), 6);
    OffloadSpec spec = of({});
    spec.rates = bus(nodes);
    const OffloadReport r = offload_activations(g, spec);
    verify(g);
    EXPECT_LE(r.wait, r.made_again) << nodes;
    EXPECT_GE(total(r), last);
    last = total(r), all.push_back(last);
  }
  EXPECT_EQ(all.front(), 0);
  EXPECT_LT(all[1], all.back());
}

// A value of the last layer has a short wait. It is offloaded, because its recomputation takes longer.
TEST(BusClock, a_wait_has_its_price) {
  Graph g = trained(llama(), 6);
  OffloadSpec spec = of({});
  spec.rates = bus(0.2);
  const OffloadReport r = offload_activations(g, spec);
  EXPECT_GT(r.wait, 0);
  EXPECT_LT(r.wait, 1);
}

// The bus is a fifth slower than the clock assumes. If the clock has reserve, that causes no wait.
TEST(BusClock, the_clock_has_room_to_be_wrong) {
  Graph g = trained(llama(), 12);
  OffloadSpec spec = of({"attn_norm", "core_attn", "mlp_norm"});
  spec.rates = bus(0.9);
  const OffloadReport r = offload_activations(g, spec);
  EXPECT_GT(r.on_bus, 0.5 * r.forward);
  EXPECT_EQ(r.wait, 0);
  EXPECT_EQ(waited(g, spec.rates.bus), 0);
  EXPECT_EQ(waited(g, spec.rates.bus / 1.2), 0);
  EXPECT_GT(waited(g, spec.rates.bus / 2), 0);
}

// The value with the longest recomputation per byte is offloaded first.
TEST(BusClock, the_bus_is_for_what_is_dear) {
  Graph g = trained(llama(), 6);
  OffloadSpec spec = of({});
  spec.rates = bus(4);
  spec.rates.launch = 1e-9, spec.rates.products = 1e3, spec.rates.bus = 300;  // so that the time of products counts
  const OffloadReport r = offload_activations(g, spec);
  ASSERT_FALSE(r.bytes.empty());
  EXPECT_FALSE(r.bytes.contains("mlp_fc1"));
  EXPECT_GT(r.made_again, 0);
  EXPECT_LE(r.wait, r.made_again);
}

}  // namespace megalith
