// What activations' way to the host's memory and back costs, and what is chosen by that.
#include "passes/bus_clock.h"

#include <gtest/gtest.h>

#include "exec/sim/simulator.h"
#include "offloaded_graph.h"

namespace megalith {

// Where the bus is far too slow the device waits, and still no more than some layers' values are on their way.
TEST(BusClock, a_slow_bus_does_not_fill_the_arena) {
  Graph g = trained(llama(), 12);
  const i64 before = planned(g).programs[0].activation_bytes;
  OffloadSpec spec = of({"attn_norm", "core_attn", "mlp_norm", "mlp_act"});
  spec.rates = bus(1e4);
  const OffloadReport r = offload_activations(g, spec);
  EXPECT_GT(r.wait, 0);
  EXPECT_LE(planned(g).programs[0].activation_bytes, before - total(r) * 8 / 11);
}

// What the clock says that the device waits is what the simulator sees, but for its launches of copies.
TEST(BusClock, the_simulator_sees_what_is_waited_for) {
  const std::vector<std::string> all = {"attn_norm", "core_attn", "mlp_norm", "mlp_act"};
  sim::Hardware hw{"nodes", 1e30, 1e30, 1e30, 1e30, 1};
  const auto seconds = [&](const Graph& g) {
    const Plan plan = planned(g);
    return sim::simulate(plan, plan.programs[0], hw).total.seconds;
  };
  const Graph plain = trained(llama(), 12);
  for (const auto& [modules, fraction, nodes] : {std::tuple(all, 0.5, 3.0),
                                                 {all, 0.3, 3.0},
                                                 {all, 1.0, 1.0},
                                                 {all, 1.0, 10.0},
                                                 {{}, 1.0, 0.9},
                                                 {{}, 1.0, 2.0}}) {
    Graph g = plain;
    OffloadSpec spec = of(modules);
    spec.config.fraction = fraction, spec.rates = bus(nodes), hw.host_bytes = spec.rates.bus;
    const OffloadReport r = offload_activations(g, spec);
    const double copies = double(places<HostStore>(g).size());
    const double waited = seconds(g) - seconds(plain);
    EXPECT_LE(waited, r.wait + 3 * copies) << fraction << " of a bus of " << nodes << ", " << r.on_bus << " on it";
    EXPECT_GE(waited, 0.8 * r.wait) << fraction << " of a bus of " << nodes << ", " << r.on_bus << " on it";
  }
}

// Half of the layers' values are on their way while the others' are made: the device waits where the forward ends.
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

// What would take longest to be made again, for each byte, goes first.
TEST(BusClock, the_bus_is_for_what_is_dear) {
  Graph g = trained(llama(), 6);
  OffloadSpec spec = of({});
  spec.rates = bus(4);
  spec.rates.launch = 1e-9, spec.rates.products = 1e3, spec.rates.bus = 300;  // products' time counts
  const OffloadReport r = offload_activations(g, spec);
  ASSERT_FALSE(r.bytes.empty());
  EXPECT_FALSE(r.bytes.contains("mlp_fc1"));
  EXPECT_GT(r.made_again, 0);
  EXPECT_LE(r.wait, r.made_again);
}

}  // namespace megalith
