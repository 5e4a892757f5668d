#include "kernel_run.h"

namespace megalith::kernel_tests {

namespace {

Tensor ids_of(i64 s, i64 b, i64 vocab, u64 seed) {
  std::vector<double> x(size_t(s * b));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = double(mix_all(seed, i) % u64(vocab + 2)) - 1;  // -1 and vocab are out of range
  return tensor(DType::i32, {s, b}, x);
}

struct Sums {
  std::vector<double> x, size;
  double most = 0;
};
Sums sums_by_id(const Tensor& ids, const Tensor& dy, i64 vocab, i64 width) {
  Sums s{std::vector<double>(size_t(vocab * width)), std::vector<double>(size_t(vocab * width))};
  for (size_t t = 0; t < ids.x.size(); ++t)
    for (i64 c = 0; c < width && ids.x[t] >= 0 && ids.x[t] < double(vocab); ++c) {
      const size_t at = size_t(i64(ids.x[t]) * width + c);
      const double v = dy.x[t * size_t(width) + size_t(c)];
      s.x[at] += v, s.size[at] += std::abs(v), s.most = std::max(s.most, s.size[at]);
    }
  return s;
}

}  // namespace

TEST(Embedding, rows_by_id_and_zeros_outside) {
  for (DType t : tested_dtypes())
    for (i64 s : {0, 1, 33})
      for (i64 width : {1, 7, 129, 264}) {
        const i64 vocab = 9;
        const Tensor ids = ids_of(s, 3, vocab, 7), table = random_tensor(t, {vocab, width}, 8);
        std::vector<double> want;
        for (double id : ids.x)
          for (i64 c = 0; c < width; ++c)
            want.push_back(id >= 0 && id < double(vocab) ? table.x[size_t(i64(id) * width + c)] : 0);
        expect_close(run_kernel(Embedding{}, {ids, table})[0], want, {0, 0}, "embedding");
      }
}

TEST(Embedding, a_split_table_gives_a_partial_sum) {
  const Mesh mesh = make_mesh({1, 1, 2, 1});
  const Type ids_type{DType::i32, {4, 1}, whole(2)};
  const Type table_type{DType::f32, {6, 2}, {{{{groups::kv_heads}}, {}}, {}, {}, {}}};
  Watched ids(tensor(DType::i32, {4, 1}, {0, 2, 3, 5})), dy(tensor(DType::f32, {4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const Tensor local = tensor(DType::f32, {3, 2}, {30, 31, 40, 41, 50, 51});
  const Coord second = mesh.coord(1);
  Watched table(local), y(tensor(DType::f32, {4, 1, 2}, std::vector<double>(8))), dtable(local);
  const Type y_type{DType::f32, {4, 1, 2}, whole(3)};
  const std::vector<std::byte*> ins = {ids.data(), table.data()}, outs = {y.data()};
  prepare_tested(Embedding{}, KernelContext{{mesh, second}, {ids_type, table_type}, {y_type}}).run({ins, outs});
  EXPECT_EQ(y.tensor(y_type).x, (std::vector<double>{0, 0, 0, 0, 30, 31, 50, 51}));

  const TestedKernel grad =
      prepare_tested(EmbeddingGrad{}, KernelContext{{mesh, second}, {ids_type, y_type, table_type}, {table_type}});
  Watched workspace(grad.workspace, 0xFF);
  const std::vector<std::byte*> grad_ins = {ids.data(), dy.data(), table.data()}, grad_outs = {dtable.data()};
  grad.run({grad_ins, grad_outs, workspace.data(), false});
  EXPECT_EQ(dtable.tensor(local.type).x, (std::vector<double>{5, 6, 0, 0, 7, 8}));
}

TEST(EmbeddingGrad, adds_rows_by_id) {
  for (DType tx : tested_dtypes())
    for (DType ty : tested_dtypes())
      for (i64 s : {0, 1, 33, 200})
        for (i64 width : {1, 7, 300, 520}) {
          const i64 vocab = 9;
          const Tensor ids = ids_of(s, 3, vocab, 9), dy = random_tensor(tx, {s, 3, width}, 10),
                       acc = random_tensor(ty, {vocab, width}, 11);
          const Sums sums = sums_by_id(ids, dy, vocab, width);
          const double e = epsilon(tx == DType::f64 || ty == DType::f64 ? DType::f64 : DType::f32);
          const RoundingLimit limit{epsilon(ty) * 1.01, double(s * 3) * e * (sums.most + 5)};
          std::vector<double> added = sums.x;
          for (size_t i = 0; i < added.size(); ++i) added[i] += acc.x[i];
          expect_close(run_kernel(EmbeddingGrad{ty}, {ids, dy, acc})[0], sums.x, limit, "grad");
          expect_close(run_kernel(EmbeddingGrad{ty, true, false}, {ids, dy, acc}, {true})[0], added, limit, "adds");
          expect_close(run_kernel(EmbeddingGrad{ty, true, true}, {ids, dy, acc})[0], added, limit, "goes on");
          expect_close(run_kernel(EmbeddingGrad{ty, true, true}, {ids, dy, acc}, {true})[0], sums.x, limit, "starts");
        }
}

// Rows without an id are neither zeroed nor changed.
TEST(EmbeddingGrad, marks_the_rows_that_hold_something) {
  for (DType tx : tested_dtypes())
    for (DType ty : tested_dtypes())
      for (i64 s : {0, 1, 9, 300})
        for (i64 width : {1, 7, 300, 520}) {
          const i64 vocab = 31;
          Tensor ids = ids_of(s, 1, vocab, 9);
          if (s > 100)
            for (i64 i = 0; i < s; i += 2) ids.x[size_t(i)] = 17;  // more than are added at once
          const Tensor dy = random_tensor(tx, {s, 1, width}, 10), acc = random_tensor(ty, {vocab, width}, 11);
          std::vector<double> held;
          for (i64 row = 0; row < vocab; ++row) held.push_back(double(mix_all(12, row) % 2));
          const Tensor marks = tensor(DType::u8, {vocab}, held);
          const Sums sums = sums_by_id(ids, dy, vocab, width);
          const double e = epsilon(tx == DType::f64 || ty == DType::f64 ? DType::f64 : DType::f32);
          const RoundingLimit limit{epsilon(ty) * 1.01, double(s) * e * (sums.most + 5)};
          for (const bool first : {true, false}) {
            std::vector<double> want = acc.x, want_marks(static_cast<size_t>(vocab));
            for (i64 row = 0; row < vocab; ++row) {
              const bool named = std::ranges::count(ids.x, double(row)) > 0, kept = !first && held[size_t(row)] != 0;
              want_marks[size_t(row)] = named || kept;
              for (size_t i = size_t(row * width); named && i < size_t((row + 1) * width); ++i)
                want[i] = (kept ? acc.x[i] : 0) + sums.x[i];
            }
            const auto got = run_kernel(EmbeddingGrad{ty, true, true, true}, {ids, dy, acc, marks}, {first});
            expect_close(got[0], want, limit, first ? "starts" : "goes on");
            EXPECT_EQ(got[1].x, want_marks);
          }
        }
}

// Ids that occur hundreds of times, and ids that occur once.
TEST(EmbeddingGrad, frequent_ids) {
  for (DType tx : tested_dtypes())
    for (DType ty : tested_dtypes())
      for (i64 width : {3, 264}) {
        const i64 vocab = 400, tokens = 1500;
        std::vector<double> x;
        for (i64 i = 0; i < tokens; ++i)
          x.push_back(i % 3 == 0 ? 17 : i % 3 == 1 && i < 400 ? 399 : double(mix_all(3, i) % vocab));
        const Tensor ids = tensor(DType::i32, {tokens, 1}, x), dy = random_tensor(tx, {tokens, 1, width}, 10),
                     acc = random_tensor(ty, {vocab, width}, 11);
        const Sums sums = sums_by_id(ids, dy, vocab, width);
        const double e = epsilon(tx == DType::f64 || ty == DType::f64 ? DType::f64 : DType::f32);
        const RoundingLimit limit{epsilon(ty) * 1.01, 600 * e * (sums.most + 5)};
        std::vector<double> added = sums.x;
        for (size_t i = 0; i < added.size(); ++i) added[i] += acc.x[i];
        expect_close(run_kernel(EmbeddingGrad{ty}, {ids, dy, acc})[0], sums.x, limit, "grad");
        expect_close(run_kernel(EmbeddingGrad{ty, true, false}, {ids, dy, acc})[0], added, limit, "adds");
      }
}

}  // namespace megalith::kernel_tests
