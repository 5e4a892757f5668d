#include "exec/sim/facts_clock.h"

#include <gtest/gtest.h>

namespace megalith::sim {

namespace {

constexpr const char* kForm = "bf16 -> bf16, nt";

KernelFact product(i64 m, i64 n, i64 k, double tflops) {
  const double work = 2.0 * double(m) * double(n) * double(k);
  return {kForm, {m, n, k}, work, work / tflops / 1e12};
}
KernelKind asked(i64 m, i64 n, i64 k, const char* form = kForm) {
  return {KernelKind::Table::product, form, {m, n, k}, 2.0 * double(m) * double(n) * double(k)};
}
double tflops(const FactsClock& clock, const KernelKind& kind) { return kind.work / clock.seconds(kind) / 1e12; }

DeviceFacts some() {
  DeviceFacts f;
  f.hbm_gbps = 3000, f.peak_tflops = {{"bf16", 900}};
  f.products = {product(8192, 4096, 4096, 700), product(1024, 1024, 1024, 300)};
  f.kernels = {{"add bf16 -> bf16", {1000000, 1024}, 1e6, 5e-6}, {"add bf16 -> bf16", {100000000, 1024}, 1e8, 5e-5}};
  f.node_gpus = 8, f.node = {400, 10, 0, {{1e6, 100}, {1e9, 400}}}, f.network = {50, 20, 0, {}};
  return f;
}

}  // namespace

TEST(FactsClock, a_recorded_shape_takes_what_was_recorded) {
  const DeviceFacts f = some();
  const FactsClock clock(f);
  EXPECT_DOUBLE_EQ(clock.seconds(asked(8192, 4096, 4096)), f.products[0].seconds);
}

TEST(FactsClock, between_recorded_shapes_rates_go_from_one_to_the_other) {
  const DeviceFacts f = some();
  const FactsClock clock(f);
  const double near = tflops(clock, asked(8192, 4096, 3840)), between = tflops(clock, asked(2896, 2048, 2048));
  EXPECT_GT(near, 650);
  EXPECT_LT(near, 700);
  EXPECT_GT(between, 350);
  EXPECT_LT(between, 600);
}

// Rates are remembered by table, form and sizes.
TEST(FactsClock, earlier_questions_do_not_change_an_answer) {
  DeviceFacts f = some();
  f.products.push_back({"f8e4m3 -> bf16, nt", {8192, 4096, 4096}, 1e12, 1e-3});
  f.attention = {{kForm, {512, 512, 512}, 1e9, 1e-4}};
  KernelKind attention = asked(2896, 2048, 2048);
  attention.table = KernelKind::Table::attention;
  const FactsClock clock(f);
  for (int round = 0; round < 2; ++round)
    for (const KernelKind& kind :
         {asked(2896, 2048, 2048), asked(2048, 2896, 512), attention, asked(2896, 2048, 2048, "f8e4m3 -> bf16, nt")})
      EXPECT_EQ(clock.seconds(kind), FactsClock(f).seconds(kind));
}

// A kernel of 24 bytes is all launch: one of 1,536 bytes takes as long, not 64 times as long.
TEST(FactsClock, a_kernel_that_is_all_launch_gives_no_rate) {
  DeviceFacts f = some();
  f.kernels.push_back({"sum f64 -> f64", {24, 1}, 24, 5e-6});
  const FactsClock clock(f);
  const auto seconds = [&](double bytes) {
    return clock.seconds({KernelKind::Table::memory, "sum f32 -> f32", {i64(bytes), 1}, bytes});
  };
  EXPECT_NEAR(seconds(1536), 5e-6, 1e-9);
  EXPECT_NEAR(seconds(3e9), 1.5e-3 + 5e-6, 1e-6);  // two thirds of the sheet's bandwidth
}

TEST(FactsClock, without_a_fact_of_its_op_a_kernel_goes_by_the_sheet) {
  DeviceFacts f = some();
  f.products.clear();
  EXPECT_NEAR(tflops(FactsClock(f), asked(8192, 4096, 4096)), 600, 1);
  const KernelKind other{KernelKind::Table::memory, "rope bf16 -> bf16", {30000000, 64}, 3e7};
  EXPECT_NEAR(3e7 / FactsClock(f).seconds(other) / 1e9, 2000, 1);
}

TEST(FactsClock, a_product_moves_its_bytes_at_the_memorys_rate_at_most) {
  const DeviceFacts f = some();
  const FactsClock clock(f);
  KernelKind near = asked(8192, 4096, 3840), known = asked(8192, 4096, 4096);
  const double computing = clock.seconds(near), recorded = clock.seconds(known);
  near.moved = 0.9 * computing * 3e12;
  EXPECT_DOUBLE_EQ(clock.seconds(near), computing);
  near.moved = 1.5 * computing * 3e12;
  EXPECT_DOUBLE_EQ(clock.seconds(near), 1.5 * computing);
  // A record is of a first micro-batch, which reads no sums.
  known.moved = 1.5 * recorded * 3e12;
  EXPECT_DOUBLE_EQ(clock.seconds(known), recorded);
  known.reads_sums = 1;
  EXPECT_DOUBLE_EQ(clock.seconds(known), 1.5 * recorded);
}

// Weights of experts are read once for all rows: with half of the experts and the same rows a product is faster.
TEST(FactsClock, products_of_experts_have_the_rate_of_their_rows) {
  DeviceFacts f = some();
  f.products = {{"grouped_product", {32768, 1536, 2048}, 2e11, 400e-6, 0.9e9}};
  const FactsClock clock(f);
  KernelKind all{KernelKind::Table::product, "grouped_product", {32768, 1536, 2048}, 2e11, 0.9e9, 0};
  EXPECT_NEAR(clock.seconds(all), 400e-6, 1e-9);
  KernelKind half = all;
  half.moved = 0.5e9;  // 300 us move 0.9e9 bytes, so 264.6 us compute
  EXPECT_NEAR(clock.seconds(half), std::hypot(264.575e-6, 0.5e9 / 3e12), 1e-9);
  KernelKind adding = all;
  adding.moved = 1.5e9, adding.reads_sums = 0.6e9;
  EXPECT_NEAR(clock.seconds(adding), std::hypot(264.575e-6, 0.5e-3), 1e-9);
  KernelKind twice = all;
  twice.sizes[0] *= 2, twice.work *= 2, twice.moved = 1.0e9;
  EXPECT_NEAR(clock.seconds(twice), std::hypot(2 * 264.575e-6, 1.0e9 / 3e12), 1e-9);
  f.products[0].moved = 0;
  EXPECT_NEAR(FactsClock(f).seconds(half), 400e-6, 1e-9) << "a file without the bytes";
}

TEST(FactsClock, transfers_go_by_the_link_that_their_ranks_share) {
  const DeviceFacts f = some();
  const FactsClock clock(f);
  EXPECT_NEAR(clock.transfer(4e8, 1e9, {0, 7}), 10e-6 + 1e-3, 1e-9);
  EXPECT_NEAR(clock.transfer(1e5, 1e6, {0, 1}), 10e-6 + 1e-6, 1e-9);
  EXPECT_NEAR(clock.transfer(5e7, 1e9, {7, 8}), 20e-6 + 1e-3, 1e-9);
}

// Two nodes of 4: a ring uses the network cards of all ranks of a node. A send between two ranks uses only the rank's
// own card.
TEST(FactsClock, a_group_in_several_nodes_has_the_cards_of_all_its_ranks) {
  DeviceFacts f = some();
  f.node_gpus = 4, f.node = {400, 10, 2, {}}, f.network = {50, 20, 5, {}};
  const FactsClock clock(f);
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_NEAR(clock.transfer(7e8, 8e8, all), 24e-6 + 7e8 / 200e9, 1e-12);
  EXPECT_NEAR(clock.transfer(7e8, 8e8, all, true), 24e-6 + 4e8 / 50e9, 1e-12);
  EXPECT_NEAR(clock.transfer(3e8, 4e8, {0, 4, 8, 12}), 25e-6 + 3e8 / 50e9, 1e-12);
  EXPECT_NEAR(clock.transfer(3e8, 4e8, {0, 1, 2, 3}), 12e-6 + 3e8 / 400e9, 1e-12);
}

TEST(FactsClock, more_bandwidth_is_never_slower) {
  const std::vector<std::vector<int>> groups = {{0, 1}, {0, 8}, {0, 1, 2, 3, 8, 9, 10, 11}, {6, 7, 8}};
  for (const auto& group : groups)
    for (const bool pairs : {false, true})
      for (double bytes = 1e3; bytes < 1e10; bytes *= 7) {
        DeviceFacts slow = some();
        const double before = FactsClock(slow).transfer(bytes, bytes, group, pairs);
        slow.network.gbps *= 1.5;
        for (auto& [size, rate] : slow.node.busbw) rate *= 1.5;
        EXPECT_LE(FactsClock(slow).transfer(bytes, bytes, group, pairs), before);
      }
}

}  // namespace megalith::sim
