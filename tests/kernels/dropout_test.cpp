#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

static Array rows_of(i64 b) {
  return array(DType::i64, {b}, [](i64 i) { return double(1000003 * i + 17); });
}

TEST(Dropout, is_its_definition) {
  for (DType t : tested_dtypes())
    for (i64 h : {1, 7, 256, 4099}) {
      const Array x = normals(t, {5, 3, h}, 1), rows = rows_of(3);
      const Dropout op{"sbh,b->sbh", 0.3, 42};
      std::vector<double> y;
      for (i64 i = 0; i < i64(x.x.size()); ++i) {
        const bool keep = unit(mix_all(42, i64(rows[i / h % 3]), i / h / 3, i % h)) >= 0.3;
        y.push_back(keep ? x[i] / 0.7 : 0);
      }
      const Array got = run_checked(op, {x, rows})[0];
      expect_near(got, y, {t, 4, 0}, "y");
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(got.x[i] == 0, y[i] == 0) << i;
    }
}

TEST(Dropout, batch_first_and_many_dims) {
  const Array x = array(DType::f32, {3, 2, 4, 5}, [](i64) { return 1.0; }), rows = rows_of(3);
  const Array got = run_checked(Dropout{"bsgd,b->bsgd", 0.5, 7}, {x, rows})[0];
  for (i64 i = 0; i < 120; ++i) {
    const bool keep = unit(mix_all(7, i64(rows[i / 40]), i / 20 % 2, i / 5 % 4, i % 5)) >= 0.5;
    EXPECT_EQ(got[i], keep ? 2 : 0);
  }
}

TEST(Dropout, drops_about_p_and_nothing_at_zero) {
  const Array x = array(DType::f32, {64, 4, 256}, [](i64) { return 1.0; });
  i64 dropped = 0;
  const Array y = run_quick(Dropout{"sbh,b->sbh", 0.1, 3}, {x, rows_of(4)})[0];
  for (double v : y.x) dropped += v == 0;
  EXPECT_NEAR(double(dropped) / 65536, 0.1, 0.006);  // 5 standard deviations
  EXPECT_EQ(run_quick(Dropout{"sbh,b->sbh", 0, 3}, {x, rows_of(4)})[0].x, x.x);
}

TEST(Dropout, ranks_draw_what_one_rank_draws) {
  const Array x = normals(DType::f32, {8, 4, 6}, 1), rows = rows_of(4);
  const Dropout op{"sbh,b->sbh", 0.4, 11};
  const Array y = run_quick(op, {x, rows})[0];
  const Mesh mesh = make_mesh({2, 2, 2, 1});
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const Place at{mesh, mesh.coord(rank)};
    Layout split = whole(3), split_rows = whole(1);
    split.dims = {{{groups::context, Order::zigzag}}, {{groups::data}}, {{groups::kv_heads}}};
    split_rows.dims = {{{groups::data}}};
    EXPECT_EQ(run_checked(op, {slice(x, split, at), slice(rows, split_rows, at)}, at)[0].x, slice(y, split, at).x);
  }
}

TEST(Dropout, gradient_by_differences) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  std::vector<Array> ins = {normals(DType::f64, {3, 2, 5}, 1), rows_of(2)};
  const Dropout op{"sbh,b->sbh", 0.4, 11};
  const Array dy = normals(DType::f64, {3, 2, 5}, 2);
  expect_gradient(ins, 0, run_quick(op, {dy, ins[1]})[0], [&] { return dot(run_quick(op, ins)[0].x, dy.x); });
}

}  // namespace megalith::kernel_tests
