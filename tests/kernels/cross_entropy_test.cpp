#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

struct Loss {
  Array logits, labels, m, dz;
  i64 vocab;
};

// Rows [3, 2] of `width` columns, of which `vocab` exist. Padding has numbers that would change the result.
static Loss loss_case(DType t, i64 vocab, i64 width) {
  Loss out{array(t, {3, 2, width}, [&](i64 i) { return i % width < vocab ? 3 * normal(mix_all(1, i)) : 1e4; }),
           array(DType::i32, {3, 2}, [&](i64 i) { return i == 4 ? -100.0 : double(mix_all(2, i) % u64(vocab)); }),
           {},
           normals(accum_of(t), {2, 3, 2}, 3),
           vocab};
  out.m = run_checked(VocabMax{vocab}, {out.logits})[0];
  return out;
}

TEST(CrossEntropy, is_its_definition) {
  for (DType t : tested_dtypes())
    for (auto [vocab, width] : {std::pair<i64, i64>{3, 3}, {3, 128}, {1000, 1000}, {1000, 1024}, {997, 1003}}) {
      SCOPED_TRACE(fmt::format("{} vocab {} width {}", name_of(t), vocab, width));
      const Loss k = loss_case(t, vocab, width);
      std::vector<double> m, z0, z1, dx, loss, dz0, dz1;
      for (i64 row = 0; row < 6; ++row) {
        const double* x = k.logits.x.data() + row * width;
        const i64 label = i64(k.labels[row]);
        m.push_back(*std::max_element(x, x + vocab));
        z0.push_back(0), z1.push_back(label < 0 ? 0 : x[label] - m.back());
        for (i64 i = 0; i < width; ++i) {
          const double e = i < vocab ? std::exp(x[i] - m.back()) : 0;
          z0.back() += e;
          dx.push_back(k.dz[row] * e + (i == label ? k.dz[6 + row] : 0));
        }
        loss.push_back(std::log(z0.back()) - z1.back());
      }
      EXPECT_EQ(k.m.x, m);
      std::vector<double> z = z0;
      z.insert(z.end(), z1.begin(), z1.end());
      const Array got = run_checked(VocabSums{vocab}, {k.logits, k.labels, k.m})[0];
      expect_near(got, z, {t, 32}, "z");
      const auto at_once = run_checked(VocabMaxSums{vocab}, {k.logits, k.labels});
      EXPECT_EQ(at_once[0].x, m);
      expect_near(at_once[1], z, {t, 32}, "z at once");
      const Array g = run_checked(VocabSumsGrad{vocab}, {k.dz, k.logits, k.labels, k.m})[0];
      expect_near(g, dx, {t, 32}, "dlogits");
      for (i64 i = 0; i < i64(g.x.size()); ++i)
        if (i % width >= vocab) {
          ASSERT_EQ(g[i], 0);
        }
      expect_near(run_checked(CrossEntropy{}, {got})[0], loss, {t, 64}, "loss");
      const Array dy = normals(got.type.dtype, {3, 2}, 9);
      for (i64 row = 0; row < 6; ++row) dz0.push_back(dy[row] / got[row]), dz1.push_back(-dy[row]);
      dz0.insert(dz0.end(), dz1.begin(), dz1.end());
      expect_near(run_checked(CrossEntropyGrad{}, {dy, got})[0], dz0, {t, 4, 0}, "dz");
    }
}

// Equals the three separate ops.
TEST(CrossEntropy, loss_and_gradient_at_once) {
  for (DType t : tested_dtypes())
    for (auto [vocab, width] :
         {std::pair<i64, i64>{3, 3}, {3, 128}, {1000, 1000}, {1000, 1024}, {997, 1003}, {20011, 20032}}) {
      SCOPED_TRACE(fmt::format("{} vocab {} width {}", name_of(t), vocab, width));
      const Loss k = loss_case(t, vocab, width);
      const Array dy = array(accum_of(t), {3, 2}, [](i64 i) { return i == 2 ? 0.0 : 1.0 + double(i); });
      const Array z = run_quick(VocabSums{vocab}, {k.logits, k.labels, k.m})[0];
      const Array dz = run_quick(CrossEntropyGrad{}, {dy, z})[0];
      const Array g = run_quick(VocabSumsGrad{vocab}, {dz, k.logits, k.labels, k.m})[0];
      const auto at_once = run_checked(VocabLoss{vocab}, {dy, k.logits, k.labels});
      expect_near(at_once[0], z.x, {t, 32}, "z");
      expect_near(at_once[1], g.x, {t, 32}, "dlogits");
      for (i64 row = 0; row < 6; ++row) EXPECT_EQ(at_once[0][6 + row], z[6 + row]);
      for (i64 i = 0; i < i64(g.x.size()); ++i)
        if (i % width >= vocab) {
          ASSERT_EQ(at_once[1][i], 0);
        }
    }
}

TEST(CrossEntropy, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  const Loss k = loss_case(DType::f64, 7, 9);
  std::vector<Array> ins = {k.logits, k.labels, k.m};
  const Array dy = normals(DType::f64, {3, 2}, 5);
  const auto z = [&] { return run_quick(VocabSums{7}, ins)[0]; };
  const Array dz = run_quick(CrossEntropyGrad{}, {dy, z()})[0];
  const Array g = run_quick(VocabSumsGrad{7}, {dz, ins[0], ins[1], ins[2]})[0];
  expect_gradient(ins, 0, g, [&] { return dot(run_quick(CrossEntropy{}, {z()})[0].x, dy.x); });
}

TEST(CrossEntropy, columns_split_over_ranks) {
  const i64 width = 24, vocab = 17;  // the last of four ranks has only padding
  const Loss k = loss_case(DType::f32, vocab, width);
  const Array whole_z = run_quick(VocabSums{vocab}, {k.logits, k.labels, k.m})[0];
  const Array whole_g = run_quick(VocabSumsGrad{vocab}, {k.dz, k.logits, k.labels, k.m})[0];
  std::vector<double> z(12, 0), m(6, -INFINITY);
  const Mesh mesh = make_mesh({1, 1, 4, 1});
  for (int rank = 0; rank < 4; ++rank) {
    const Place at{mesh, mesh.coord(rank)};
    Layout split = whole(3);
    split.dims[2] = {{groups::kv_heads}};
    const Array mine = slice(k.logits, split, at);
    Array dz = k.dz;
    dz.type.layout.copy = {groups::kv_heads};
    const Array my_m = run_checked(VocabMax{vocab}, {mine}, at)[0];
    const Array my_z = run_checked(VocabSums{vocab}, {mine, k.labels, k.m}, at)[0];
    for (int i = 0; i < 6; ++i) m[i] = std::max(m[i], my_m[i]);
    for (int i = 0; i < 12; ++i) z[i] += my_z[i];
    EXPECT_EQ(run_checked(VocabSumsGrad{vocab}, {dz, mine, k.labels, k.m}, at)[0].x, slice(whole_g, split, at).x);
  }
  EXPECT_EQ(m, k.m.x);
  expect_near(whole_z, z, {DType::f32, 16}, "z");
}

TEST(CrossEntropy, hostile_labels_and_logits) {
  Loss k = loss_case(DType::f32, 10, 16);
  for (i64 i = 0; i < 6; ++i) k.labels[i] = std::array{-1.0, -2147483648.0, 10.0, 15.0, 16.0, 2147483647.0}[i];
  const Array z = run_checked(VocabSums{10}, {k.logits, k.labels, k.m})[0];
  for (i64 i = 0; i < 6; ++i) EXPECT_EQ(z[6 + i], 0);
  const auto at_once = run_checked(VocabMaxSums{10}, {k.logits, k.labels});
  for (i64 i = 0; i < 6; ++i) EXPECT_EQ(at_once[1][6 + i], 0);
  const Array g = run_checked(VocabSumsGrad{10}, {k.dz, k.logits, k.labels, k.m})[0];
  for (double v : g.x) EXPECT_TRUE(std::isfinite(v));
  const Array dy = normals(DType::f32, {3, 2}, 4);
  const auto loss = run_checked(VocabLoss{10}, {dy, k.logits, k.labels});
  for (i64 i = 0; i < 6; ++i) EXPECT_EQ(loss[0][6 + i], 0);
  for (double v : loss[1].x) EXPECT_TRUE(std::isfinite(v));
  k.logits[0] = NAN;
  EXPECT_TRUE(std::isnan(run_checked(VocabLoss{10}, {dy, k.logits, k.labels})[0][0]));
  const Array m = run_checked(VocabMax{10}, {k.logits})[0];
  EXPECT_TRUE(std::isnan(run_checked(VocabSums{10}, {k.logits, k.labels, m})[0][0]));
}

}  // namespace megalith::kernel_tests
