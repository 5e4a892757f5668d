#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include "calibrate/link_trial.h"
#include "calibrate/trial_program.h"
#include "comm/join.h"
#include "exec/cpu/backend.h"
#include "exec/sim/kernel_kind.h"
#include "exec/sim/overlap.h"
#include "ops/grouped_product.h"

namespace megalith {

namespace {

using Table = sim::KernelKind::Table;

// Seconds of a transfer, the work that overlaps it, and the wait.
double at_once(const BesideFacts& beside, double kernels, double moved) {
  sim::Overlap o(beside);
  const int ticket = o.begin(1, moved, true);
  o.work(kernels, Table::product), o.wait(ticket);
  return o.now();
}

std::vector<std::string> grouped_forms(const DeviceFacts& f) {
  std::vector<std::string> out;
  for (const KernelFact& k : f.products)
    if (k.form.starts_with(GroupedProduct::name)) out.push_back(k.form);
  return out;
}

}  // namespace

// Calibrate recovers the two factors from simulated times.
TEST(Calibrate, slowdowns_are_those_that_the_simulator_overlaps_by) {
  for (const auto& [kernels, transfer] : {std::pair{1.08, 2.6}, std::pair{1.2, 1.1}, std::pair{1.0, 3.5}}) {
    const BesideFacts beside{.product = kernels, .transfer = transfer};
    const double moved = 1e-3, few = 0.5e-3, many = 4e-3;
    const Slowdowns s = slowdowns({few, moved, many, at_once(beside, many, moved), at_once(beside, few, moved)});
    EXPECT_NEAR(s.kernels, kernels, 1e-3);
    EXPECT_NEAR(s.transfer, transfer, 1e-3);
  }
}

TEST(Calibrate, a_trial_overlaps_in_rounds_as_programs_do) {
  const LinkTrialSizes sizes = link_trial_sizes(false);
  const Mesh mesh = mesh_of_groups(2, 2);
  const Graph g = trial_graph(mesh, {Transfer::all_gather, 65536, 1, 2}, Kernel::product, 3, sizes, 4);
  std::string order;
  for (const Node& n : g.nodes) order += n.op.name() == "relayout" ? 't' : n.op.name() == "wait" ? 'w' : 'k';
  EXPECT_EQ(order, "ttkkkwwttkkkwwttkkkwwttkkkww");
}

// Old facts without mixtures get kernels of mixtures; the other kernels are unchanged.
TEST(Calibrate, kept_facts_get_the_kernels_of_mixtures_that_they_lack) {
  const auto ranks = make_alone({});
  const auto backend = make_cpu_backend(ranks.get());
  DeviceFacts before;
  before.kernels = {{"add f32 -> f32", {1000000, 1024}, 1e6, 5e-6}};
  DeviceFacts once = before;
  add_mixtures(once, *backend, *ranks);
  EXPECT_EQ(grouped_forms(once).size(), 10u);  // for each dtype three products of rows, and two weight gradients
  for (const KernelFact& k : once.products)
    if (const bool of_rows = k.sizes[0] == 2 * 256 * 2; of_rows && k.form.starts_with(GroupedProduct::name))
      EXPECT_EQ(k.work, 2.0 * double(k.sizes[0]) * double(k.sizes[1]) * double(k.sizes[2])) << k.form;
  EXPECT_EQ(once.kernels.front().form, before.kernels.front().form);
  EXPECT_EQ(once.kernels.front().seconds, before.kernels.front().seconds);
  DeviceFacts twice = once;
  add_mixtures(twice, *backend, *ranks);
  EXPECT_EQ(twice.products.size(), once.products.size());
}

// The model's own shapes are measured, so a plan of it does not interpolate.
TEST(Calibrate, the_users_model_is_measured_in_its_own_sizes) {
  const auto ranks = make_alone({});
  const auto backend = make_cpu_backend(ranks.get());
  const ModelCase model{
      .layers = 2, .hidden = 96, .heads = 4, .vocab = 640, .seq = 32, .batch = 3, .dtype = DType::f32};
  CalibrateOptions options{.name = "mine", .model = {timed(model)}, .before = DeviceFacts{}};
  options.before->kernels = {{"add f32 -> f32", {1000000, 1024}, 1e6, 5e-6}};
  options.before->transfers = {{.kind = "send", .busbw = {{1e6, 1}}}};
  const DeviceFacts facts = calibrate(*backend, *ranks, options);
  EXPECT_EQ(facts.kernels.front().seconds, 5e-6);
  EXPECT_EQ(facts.transfers.size(), 1u);
  const PlannedStep step = plan_step(model.spec(), *backend);
  const Program& p = step.plan.programs[size_t(step.plan.index_of("last-micro-batch"))];
  int products = 0;
  double sum = 0;
  for (const Instruction& in : p.instructions) {
    const sim::KernelKind kind = sim::kind_of(step.plan, p, in);
    if (!(kind.work > 0)) continue;
    const auto& known = kind.table == Table::product     ? facts.products
                        : kind.table == Table::attention ? facts.attention
                                                         : facts.kernels;
    const auto it =
        std::ranges::find_if(known, [&](const KernelFact& k) { return k.form == kind.form && k.sizes == kind.sizes; });
    ASSERT_NE(it, known.end()) << kind.form;
    products += kind.table == Table::product, sum += it->seconds;
  }
  EXPECT_GT(products, 12);
  EXPECT_GT(sum, 0);
  EXPECT_GT(facts.together, 0);  // how much depends on what else the machine does
  // A second measurement replaces the first.
  options.before = facts;
  for (KernelFact& f : options.before->products) f.seconds = 1000;
  const DeviceFacts again = calibrate(*backend, *ranks, options);
  EXPECT_EQ(again.products.size(), facts.products.size());
  for (const KernelFact& f : again.products) EXPECT_LT(f.seconds, 10) << f.form;
}

}  // namespace megalith
