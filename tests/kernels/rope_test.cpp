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
      const i64 first = row * d + op.first + (op.interleaved ? 2 * i : i), second = first + (op.interleaved ? 1 : half);
      const double u = x[first], v = x[second];
      y[first] = op.freq.amplitude() * (u * std::cos(angle) - v * std::sin(angle));
      y[second] = op.freq.amplitude() * (v * std::cos(angle) + u * std::sin(angle));
    }
  return y;
}

// With its amax too.
static Array rotated(const Rope& op, const std::vector<Array>& ins) {
  const std::vector<Array> out = run_checked(op, ins);
  compare_amax(op, ins, out);
  return out[0];
}

TEST(Rope, is_its_definition) {
  for (DType t : tested_dtypes())
    for (auto [d, dims] : {std::pair<i64, i64>{4, 4}, {8, 2}, {40, 40}, {64, 64}, {64, 16}, {9, 6}, {5, 0}})
      for (i64 s : {1, 5, 130})
        for (int sign : {1, -1}) {
          Rope op{.x = "sbgrd", .freq = {.dims = dims}, .sign = sign};
          const Array x = normals(t, {s, 2, 2, 3, d}, 1);
          expect_near(rotated(op, {x}), turned(op, x, [](i64 i, i64) { return double(i); }), {t, 8, 4}, "static");
          op.positions = true, op.freq.base = 500000,
          op.freq.scaling = {.kind = RopeScaling::Kind::llama3, .factor = 8, .original_length = 8192};
          const auto position = [](i64 i, i64 b) { return double((i * 7919 + b * 31) % 8192); };
          const Array positions = array(DType::i32, {s, 2}, [&](i64 i) { return position(i / 2, i % 2); });
          expect_near(rotated(op, {x, positions}), turned(op, x, position), {t, 8, 4}, "by input");
          op.interleaved = true;
          expect_near(rotated(op, {x, positions}), turned(op, x, position), {t, 8, 4}, "interleaved");
          op.positions = false;
          expect_near(rotated(op, {x}), turned(op, x, [](i64 i, i64) { return double(i); }), {t, 8, 4},
                      "interleaved, static");
        }
}

// From Megatron Core 0.16.1: _apply_rotary_pos_emb_bshd(x, RotaryEmbedding(d, part, interleaved)(3), interleaved)[2]
// with x = (arange(3 * d) + 1) / 8. A quarter of twelve is three, so two pairs rotate, with the exponents of three.
TEST(Rope, is_megatrons) {
  struct Reference {
    i64 d, width;
    bool interleaved;
    std::vector<double> turned;
  };
  const Reference all[] = {
      {8, 6, true, {-2.9302311, 0.9959266, 2.1330276, 2.7093945, 2.6131263, 2.7612853, 2.875, 3.0}},
      {8, 6, false, {-3.1575556, 1.9969785, 2.3631284, 0.8918898, 2.822269, 2.7602081, 2.875, 3.0}},
      {12, 3, true, {-4.2556753, 1.4890772, 3.3598876, 3.5145099, 3.625, 3.75}},
      {12, 3, false, {-4.3693376, 3.2348888, 1.4370588, 3.5139713, 3.625, 3.75}}};
  for (const Reference& r : all) {
    Rope op{.x = "sbgd", .freq = {.dims = (r.width + 1) / 2 * 2, .width = r.width}, .interleaved = r.interleaved};
    const Array x = array(DType::f32, {3, 1, 1, r.d}, [](i64 i) { return double(i + 1) / 8; });
    const Array y = run_checked(op, {x})[0];
    for (size_t i = 0; i < r.turned.size(); ++i) EXPECT_NEAR(y.x[size_t(2 * r.d) + i], r.turned[i], 2e-6) << i;
  }
}

TEST(Rope, only_the_first_heads_turn) {
  for (DType t : tested_dtypes())
    for (const auto& [d, dims, interleaved] :
         {std::tuple<i64, i64, bool>{16, 16, false}, {9, 6, false}, {16, 16, true}, {9, 6, true}})
      for (bool positions : {false, true}) {
        Rope op{.x = "sbjd", .freq = {.dims = dims}, .positions = positions, .heads = 3, .interleaved = interleaved};
        const Array x = normals(t, {7, 2, 5, d}, 1);
        std::vector<Array> ins = {x};
        if (positions) ins.push_back(array(DType::i32, {7, 2}, [](i64 i) { return double(i / 2); }));
        std::vector<double> want = turned(op, x, [](i64 i, i64) { return double(i); });
        for (size_t i = 0; i < want.size(); ++i)
          if (i64(i) / d % 5 >= 3) want[i] = x.x[i];
        expect_near(rotated(op, ins), want, {t, 8, 4}, "heads");
      }
}

// As in multi-head latent attention: the dims before the rotated pairs do not change. Yarn has an amplitude.
TEST(Rope, a_part_behind_others) {
  for (DType t : tested_dtypes())
    for (auto [first, dims, d] : {std::tuple<i64, i64, i64>{12, 8, 20}, {128, 64, 192}, {3, 4, 10}, {0, 8, 8}})
      for (bool positions : {false, true}) {
        Rope op{.x = "sbgrd", .freq = {.dims = dims}, .positions = positions, .first = first, .interleaved = true};
        op.freq.scaling = {.kind = RopeScaling::Kind::yarn, .factor = 4, .original_length = 16};
        const Array x = normals(t, {7, 2, 3, 1, d}, 1);
        std::vector<Array> ins = {x};
        if (positions) ins.push_back(array(DType::i32, {7, 2}, [](i64 i) { return double(i / 2); }));
        expect_near(rotated(op, ins), turned(op, x, [](i64 i, i64) { return double(i); }), {t, 8, 4}, "part");
      }
}

TEST(Rope, far_positions_are_as_exact_as_near_ones) {
  const Rope op{.x = "sbgd", .freq = {.dims = 128}, .positions = true};
  const auto position = [](i64 i, i64 b) { return double(999000 + 37 * i + b); };
  const Array x = normals(DType::f32, {50, 2, 3, 128}, 1),
              positions = array(DType::i32, {50, 2}, [&](i64 i) { return position(i / 2, i % 2); });
  expect_near(rotated(op, {x, positions}), turned(op, x, position), {DType::f32, 8, 4}, "far");
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
  const Mesh mesh = make_mesh({1, 2, 1, 1});
  for (int rank = 0; rank < 2; ++rank) {
    const Place at{mesh, mesh.coord(rank)};
    Layout split = whole(4);
    split.dims[0] = {{groups::context, Order::zigzag}};
    EXPECT_EQ(run_checked(op, {slice(x, split, at)}, at)[0].x, slice(y, split, at).x);
  }
}

}  // namespace megalith::kernel_tests
