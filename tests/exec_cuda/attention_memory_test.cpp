// What attention's backward asks for where cuDNN would keep the gradients of all scores.
#include <gtest/gtest.h>

#include <cmath>

#include "exec/cuda/kernel.h"
#include "ops/attention.h"

namespace megalith::cuda {

// Head size 96 of a sequence of 131072: 32 GiB of scores a head.
TEST(AttentionMemory, scores_of_a_long_sequence_are_not_kept) {
  Device device(0, "");
  const Mesh mesh = make_mesh({});
  const i64 s = 131072, r = 4, d = 96;
  const auto type = [](DType t, const Shape& shape) { return Type{t, shape, whole(shape.size())}; };
  const Type q = type(DType::bf16, {s, 1, 1, r, d}), k = type(DType::bf16, {s, 1, 1, d});
  const Type lse = type(DType::f32, {s, 1, 1, r}), rows = type(DType::i64, {1});
  const AttentionGrad op{{.scale = 1 / std::sqrt(double(d))}};
  const Kernel kernel = prepare_any(op, {mesh, mesh.coord(0), {q, q, k, k, q, lse, rows}, {q, k, k}, device});
  EXPECT_LT(kernel.workspace, s * r * d * 8);  // dq in f32, at most
}

}  // namespace megalith::cuda
