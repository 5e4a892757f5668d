#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

static std::vector<double> turned(const Rope& op, const Array& x, const std::function<double(i64, i64)>& position) {
  const i64 d = x.type.shape.back(), b = x.dim(1), heads = x.type.elements() / (x.dim(0) * b * d),
            half = op.freq.dims / 2;
  const std::vector<double> freq = op.freq.inverse();
  std::vector<double> y = x.x;
  for (i64 row = 0; row < x.dim(0) * b * heads; ++row)
    for (i64 i = 0; i < half; ++i) {
      const double angle = op.sign * position(row / heads / b, row / heads % b) * freq[size_t(i)];
      const double u = x[row * d + i], v = x[row * d + half + i];
      y[row * d + i] = u * std::cos(angle) - v * std::sin(angle);
      y[row * d + half + i] = v * std::cos(angle) + u * std::sin(angle);
    }
  return y;
}

TEST(Rope, is_its_definition) {
  for (DType t : tested_dtypes())
    for (auto [d, dims] : {std::pair<i64, i64>{4, 4}, {8, 2}, {40, 40}, {64, 64}, {64, 16}, {9, 6}, {5, 0}})
      for (i64 s : {1, 5, 130})
        for (int sign : {1, -1}) {
          Rope op{.x = "sbgrd", .freq = {.dims = dims}, .sign = sign};
          const Array x = normals(t, {s, 2, 2, 3, d}, 1);
          expect_near(run_checked(op, {x})[0], turned(op, x, [](i64 i, i64) { return double(i); }), {t, 8, 4},
                      "static");
          op.positions = true, op.freq.base = 500000, op.freq.factor = 8;
          const auto position = [](i64 i, i64 b) { return double((i * 7919 + b * 31) % 8192); };
          const Array positions = array(DType::i32, {s, 2}, [&](i64 i) { return position(i / 2, i % 2); });
          expect_near(run_checked(op, {x, positions})[0], turned(op, x, position), {t, 8, 4}, "by input");
        }
}

TEST(Rope, only_the_first_heads_turn) {
  for (DType t : tested_dtypes())
    for (const auto& [d, dims] : {std::pair<i64, i64>{16, 16}, {9, 6}})
      for (bool positions : {false, true}) {
        Rope op{.x = "sbjd", .freq = {.dims = dims}, .positions = positions, .heads = 3};
        const Array x = normals(t, {7, 2, 5, d}, 1);
        std::vector<Array> ins = {x};
        if (positions) ins.push_back(array(DType::i32, {7, 2}, [](i64 i) { return double(i / 2); }));
        std::vector<double> want = turned(op, x, [](i64 i, i64) { return double(i); });
        for (size_t i = 0; i < want.size(); ++i)
          if (i64(i) / d % 5 >= 3) want[i] = x.x[i];
        expect_near(run_checked(op, ins)[0], want, {t, 8, 4}, "heads");
      }
}

TEST(Rope, far_positions_are_as_exact_as_near_ones) {
  const Rope op{.x = "sbgd", .freq = {.dims = 128}, .positions = true};
  const auto position = [](i64 i, i64 b) { return double(999000 + 37 * i + b); };
  const Array x = normals(DType::f32, {50, 2, 3, 128}, 1),
              positions = array(DType::i32, {50, 2}, [&](i64 i) { return position(i / 2, i % 2); });
  expect_near(run_checked(op, {x, positions})[0], turned(op, x, position), {DType::f32, 8, 4}, "far");
}

TEST(Rope, turning_back_gives_the_same) {
  Rope op{.x = "sbgd", .freq = {.dims = 8}};
  const Array x = normals(DType::f32, {9, 2, 3, 8}, 1), y = run_quick(op, {x})[0];
  op.sign = -1;
  expect_near(run_quick(op, {y})[0], x.x, {DType::f32, 16, 4}, "x");
}

TEST(Rope, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  const Rope op{.x = "sbgd", .freq = {.dims = 6}}, back{.x = "sbgd", .freq = {.dims = 6}, .sign = -1};
  std::vector<Array> ins = {normals(DType::f64, {5, 2, 1, 8}, 1)};
  const Array dy = normals(DType::f64, {5, 2, 1, 8}, 2);
  expect_gradient(ins, 0, run_quick(back, {dy})[0], [&] { return dot(run_quick(op, ins)[0].x, dy.x); });
}

TEST(Rope, zigzag_positions) {
  const Rope op{.x = "sbgd", .freq = {.dims = 8}};
  const Array x = normals(DType::f32, {16, 2, 1, 8}, 1), y = run_quick(op, {x})[0];
  const Mesh mesh = make_mesh(1, 2, 1, 1);
  for (int rank = 0; rank < 2; ++rank) {
    const Place at{mesh, mesh.coord(rank)};
    Layout split = whole(4);
    split.dims[0] = {{Axis::cp, Order::zigzag}};
    EXPECT_EQ(run_checked(op, {slice(x, split, at)}, at)[0].x, slice(y, split, at).x);
  }
}

}  // namespace megalith::kernel_tests
