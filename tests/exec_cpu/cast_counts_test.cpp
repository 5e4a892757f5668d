// What casts count as lost, and how a step collects it.
#include "ops/cast_counts.h"

#include <limits>

#include "tests/kernels/kernel_run.h"

namespace megalith::kernel_tests {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> counts_of(Quantize op, const std::vector<Tensor>& ins) {
  op.counts = true;
  std::vector<double> out;
  for (const CodeOrders orders : {CodeOrders::as_is, CodeOrders::transposed, CodeOrders::both}) {
    op.orders = orders, op.split = orders == CodeOrders::as_is ? 0 : 1;
    const std::vector<Tensor> got = run_kernel(op, ins);
    EXPECT_EQ(got.size(), size_t(op.counts_at()) + (orders == CodeOrders::both ? 2 : 1));
    const std::vector<double> here = got[size_t(op.counts_at())].x;
    if (!out.empty()) EXPECT_EQ(here, out) << name_of(orders);
    out = here;
  }
  return out;
}

}  // namespace

// Values at the largest code are not beyond it; a zero does not become 0.
TEST(CastCounts, values_beyond_the_largest_and_those_that_vanish) {
  struct Case {
    CodeFormat format;
    double scale;
    std::vector<double> x;
    double saturated, underflow;
  };
  for (const auto& [format, scale, x, saturated, underflow] :
       {Case{CodeFormat::e4m3, 1, {448, -448, 450, -1e9, 0, -0.0, 0x1p-9, 0x1p-10}, 2, 1},
        Case{CodeFormat::e4m3, 2, {224, -224, 225, kInf, 0x1p-12, -0x1p-13, 3, 5}, 2, 2},
        Case{CodeFormat::e4m3, 1, {kNaN, 1, 1e-30, -1e-45, 0, 0, 0, 0}, 0, 2},
        Case{CodeFormat::e5m2, 1, {57344, 60000, -60000, 0x1p-16, 0x1p-17, 0x1p-18, 0, 1}, 2, 2}})
    for (const bool gives_amax : {false, true}) {
      Quantize op{.format = format, .scaling = Scaling::kept, .box = {4, 2}};
      op.gives_amax = gives_amax;
      std::vector<Tensor> ins = {tensor(DType::f32, {4, 2}, x)};
      if (!gives_amax) ins.push_back(tensor(DType::f32, {1, 1}, {448}));
      ins.push_back(tensor(DType::f32, {1}, {scale}));
      EXPECT_EQ(counts_of(op, ins), (std::vector<double>{saturated, underflow})) << name_of(format) << " " << x[0];
    }
}

// A block's own scale saturates nothing. What is far below the block's largest vanishes.
TEST(CastCounts, blocks_saturate_nothing) {
  std::vector<double> x(64 * 128);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 128 == 5 ? 1e5 : i % 3 == 0 ? 1e-5 : i % 3 == 1 ? 7 : 0;
  i64 vanish = 0;
  for (const double v : x) vanish += v == 1e-5;
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const Scaling by : {Scaling::power_of_two, Scaling::mx}) {
      const Quantize op{.scaling = by, .box = {1, by == Scaling::mx ? 32 : 128}};
      const std::vector<double> got = counts_of(op, {tensor(dtype, {64, 128}, x)});
      EXPECT_EQ(got[0], 0);
      if (by == Scaling::power_of_two) EXPECT_EQ(got[1], double(vanish));
      if (by == Scaling::mx) EXPECT_GT(got[1], 0);
    }
}

TEST(CastCounts, casts_of_nothing_count_nothing) {
  Quantize op{.scaling = Scaling::power_of_two, .box = {1, 128}};
  op.counts = true;
  EXPECT_EQ(run_kernel(op, {tensor(DType::f32, {0, 128}, {})})[2].x, (std::vector<double>{0, 0}));
}

// The first micro-batch starts anew; casts of one tensor are added.
TEST(CastCounts, are_collected_by_tensor) {
  const auto counts = [](double a, double b) { return tensor(DType::i64, {2}, {a, b}); };
  const Tensor seen = tensor(DType::f64, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const CollectCounts op{{2, 0, 2}, {100, 10, 1000}};
  const std::vector<Tensor> ins = {seen, counts(1, 2), counts(3, 4), counts(5, 6)};
  EXPECT_EQ(run_kernel(op, ins)[0].x, (std::vector<double>{4, 6, 13, 4, 5, 6, 13, 16, 1109}));
  EXPECT_EQ(run_kernel(op, ins, {.first_micro_batch = true})[0].x,
            (std::vector<double>{3, 4, 10, 0, 0, 0, 6, 8, 1100}));
}

// Of ranks that hold the same values the first one counts.
TEST(CastCounts, replicas_count_once) {
  const Mesh mesh = make_mesh({2, 1, 2, 1});
  Type x{DType::bf16, {4, 4, 64}, whole(3)};
  x.layout.dims[1].add({groups::data});
  Quantize op{.scaling = Scaling::power_of_two, .box = {1, 1, 64}};
  op.counts = true;
  const Type counts = op.infer({mesh, {x}, {false}})[2];
  EXPECT_EQ(counts.layout.partial, mesh.used(groups::data));
  int here = 0;
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) here += counts_here(mesh, mesh.coord(rank), counts);
  EXPECT_EQ(here, 2);
}

}  // namespace megalith::kernel_tests
