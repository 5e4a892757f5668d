// Workspaces of our own kernels, against the rules that they state.
#include "exec/cuda_needs/needs.h"

#include <gtest/gtest.h>

#include "exec/cuda_needs/grouped_fits.h"
#include "exec/cuda_needs/lane_blocks.h"

namespace megalith::cuda {

namespace {

class NoLibraries final : public LibraryNeeds {
 public:
  std::optional<i64> product(const GemmProblem&) const override { return std::nullopt; }
  std::optional<i64> attention(const CudnnAttention&) const override { return std::nullopt; }
  void bounded(std::string_view op) const override { last = op; }
  mutable std::string last;
};

constexpr GpuSizes kHopper{132, 232448, 90, i64{80} << 30}, kAmpere{108, 166912, 80, i64{80} << 30};

Type of(Shape shape, DType dtype = DType::bf16) {
  const int dims = int(shape.size());
  return {dtype, std::move(shape), whole(dims)};
}

i64 asked(const AnyOp& op, std::vector<Type> ins, std::vector<Type> outs, const GpuSizes& gpu,
          std::string* told = nullptr) {
  const Mesh mesh = make_mesh({});
  const NoLibraries none;
  const i64 bytes = needed_workspace(op, {mesh, Coord{}, std::move(ins), std::move(outs), gpu}, none);
  if (told) *told = none.last;
  return bytes;
}

}  // namespace

TEST(Needs, squares_take_a_partial_sum_of_each_block) {
  EXPECT_EQ(asked(SumSquares{}, {of({32768 * 3 + 1}, DType::f32)}, {of({}, DType::f64)}, kHopper), 4 * 8);
}

TEST(Needs, a_norms_gradient_takes_a_row_of_sums_of_each_block) {
  const Type x = of({128, 4, 4096}), w = of({4096}), stats = of({128, 4}, DType::f32);
  std::string told;
  EXPECT_EQ(asked(RmsNormGrad{}, {x, x, w, stats}, {x, of({4096}, DType::f32)}, kHopper, &told), 132 * 4096 * 4);
  EXPECT_EQ(told, "");
  // Elsewhere the driver says how many blocks are resident: 8192 elements a multiprocessor are the most that is wanted.
  EXPECT_GE(asked(RmsNormGrad{}, {x, x, w, stats}, {x, of({4096}, DType::f32)}, kAmpere, &told), 108 * 4096 * 4);
  EXPECT_EQ(told, "rms_norm_grad");
}

TEST(Needs, the_vocabularys_loss_takes_none_where_rows_fit) {
  const std::vector<Type> fits = {of({128, 2}, DType::f32), of({128, 2, 50304}), of({128, 2}, DType::i32)};
  const std::vector<Type> outs = {of({2, 128, 2}, DType::f32), of({128, 2, 50304})};
  EXPECT_EQ(asked(VocabLoss{.vocab = 50257}, fits, outs, kHopper), 0);
  EXPECT_EQ(asked(VocabLoss{.vocab = 50257}, fits, outs, kAmpere), 3 * 256 * 4);
}

TEST(Needs, grouped_products_on_tensor_cores_take_a_ticket) {
  const auto ask = [](i64 in, DType dtype, const GpuSizes& gpu) {
    const Type rows = of({96, in}, dtype), w = of({4, 24, in}, dtype), ends = of({1, 4}, DType::i32);
    return asked(GroupedProduct{"nh,efh->nf", dtype}, {rows, w, ends}, {of({96, 24}, dtype)}, gpu);
  };
  EXPECT_EQ(ask(16, DType::bf16, kHopper), 4);
  EXPECT_EQ(ask(16, DType::bf16, kAmpere), 0);
  EXPECT_EQ(ask(16, DType::f32, kHopper), 0);
  EXPECT_EQ(ask(12, DType::bf16, kHopper), 0);
}

TEST(Needs, weight_gradients_of_shared_experts_leave_multiprocessors_for_a_transfer) {
  const auto taken = [](const char* spec, const Mesh& mesh, const GpuSizes& gpu) {
    return grouped_multiprocessors({spec, DType::bf16}, {mesh, Coord{}, {}, {}, gpu});
  };
  const char *forward = "nh,emfh->nmf", *gradient = "nf,nh->efh";
  const Mesh one = make_mesh({.dp = 4}), ep = make_mesh({.dp = 4, .ep = 4});
  const Mesh etp = make_mesh({.tp_kv = 4, .ep = 1, .etp = 4});
  for (const char* spec : {forward, gradient}) EXPECT_EQ(taken(spec, one, kHopper), 132) << spec;
  for (const Mesh& mesh : {ep, etp}) {
    EXPECT_EQ(taken(forward, mesh, kHopper), 132);
    EXPECT_EQ(taken(gradient, mesh, kHopper), 132 - kLaneBlocks);
  }
  EXPECT_EQ(taken(gradient, ep, {16, 232448, 90, i64{10} << 30}), 8);  // a part of a GPU keeps half of its own
}

TEST(Needs, most_ops_take_none) {
  const Type x = of({128, 4, 64});
  EXPECT_EQ(asked(Scale{}, {x}, {x}, kHopper), 0);
}

}  // namespace megalith::cuda
