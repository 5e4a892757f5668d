// Accumulate, SumSquares, AdamW, Sgd, and the same over many tensors.
#include <limits>
#include <optional>

#include "kernel_run.h"

namespace megalith::kernel_tests {

namespace {

Tensor scalars_of(double factor, double counts) {
  return tensor(DType::f64, {step_scalar::kSize}, {0, 0, factor, counts});
}

struct Moments {
  Tensor w, g, m, v;
};
Moments moments(DType t, i64 n) {
  Moments s{random_tensor(t, {n}, 1), random_tensor(t, {n}, 2), random_tensor(t, {n}, 3), random_tensor(t, {n}, 4)};
  for (double& v : s.v.x) v *= v;
  s.v = tensor(t, {n}, s.v.x);
  return s;
}

}  // namespace

TEST(Accumulate, adds_or_starts) {
  for (DType t : tested_dtypes())
    for (i64 n : {0, 1, 33, 9001}) {
      const Tensor acc = random_tensor(t, {n}, 1), x = random_tensor(t, {n}, 2);
      std::vector<double> sum = acc.x;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += x.x[i];
      const RoundingLimit limit{epsilon(t) * 1.01, epsilon(accum_of(t)) * 10};
      expect_close(run_kernel(Accumulate{1, false}, {acc, x}, {true})[0], sum, limit, "adds");
      expect_close(run_kernel(Accumulate{1, true}, {acc, x}, {false})[0], sum, limit, "goes on");
      expect_close(run_kernel(Accumulate{1, true}, {acc, x}, {true})[0], x.x, {0, 0}, "starts");
    }
}

// Accumulators of all sizes in one op equal separate ones.
TEST(MultiAccumulate, is_accumulate_on_each) {
  for (bool starts : {false, true})
    for (bool first : {false, true}) {
      MultiAccumulate op{0, starts};
      std::vector<Tensor> ins, want;
      for (i64 n : {1, 7, 0, 33, 9001, 40000}) {
        ins.push_back(random_tensor(DType::f32, {n}, u64(n))),
            ins.push_back(random_tensor(DType::f32, {n}, u64(n) + 1));
        want.push_back(run_kernel(Accumulate{1, starts}, {ins[ins.size() - 2], ins.back()}, {first})[0]);
        ++op.tensors;
      }
      const auto got = run_kernel(op, ins, {first});
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].x, want[i].x) << "result " << i;
    }
}

TEST(SumSquares, in_f64) {
  for (DType t : tested_dtypes())
    for (i64 n : {0, 1, 7, 33, 129, 100000}) {
      const Tensor x = random_tensor(t, {n}, 3);
      double want = 0;
      for (double v : x.x) want += v * v;
      EXPECT_NEAR(run_kernel(SumSquares{1}, {x})[0].x[0], want, 1e-12 * want) << n;
    }
  const Tensor big = tensor(DType::f32, {3}, {3e30, 4e30, 0});
  EXPECT_NEAR(std::sqrt(run_kernel(SumSquares{1}, {big})[0].x[0]), 5e30, 1e24);
}

// Rows of a table, of which every third has a mark. Other rows have NaN, which must not be read. `zeros`: 0 instead.
struct Marked {
  Tensor x, zeros, marks;
};
Marked marked_rows(DType t, i64 rows, i64 width) {
  Marked out{random_tensor(t, {rows, width}, 3), {}, {}};
  out.zeros = out.x;
  std::vector<double> marks;
  for (i64 row = 0; row < rows; ++row) {
    marks.push_back(row % 3 == 1);
    for (i64 i = row * width; row % 3 != 1 && i < (row + 1) * width; ++i)
      out.x.x[size_t(i)] = std::numeric_limits<double>::quiet_NaN(), out.zeros.x[size_t(i)] = 0;
  }
  out.marks = tensor(DType::u8, {rows}, marks);
  return out;
}

TEST(SumSquares, of_marked_rows) {
  for (DType t : tested_dtypes())
    for (i64 rows : {0, 1, 2, 130})
      for (i64 width : {1, 7, 256, 300}) {
        const Marked m = marked_rows(t, rows, width);
        double want = 0;
        for (double x : m.zeros.x) want += x * x;
        EXPECT_NEAR(run_kernel(SumSquares{2, true}, {m.x, m.marks})[0].x[0], want, 1e-12 * want);
      }
}

TEST(MultiSumSquares, is_the_sum_of_single_ones) {
  for (DType t : tested_dtypes()) {
    std::vector<Tensor> all;
    double want = 0;
    for (i64 n : {1, 7, 0, 100000, 129}) {
      all.push_back(random_tensor(t, {n}, u64(n)));
      want += run_kernel(SumSquares{1}, {all.back()})[0].x[0];
    }
    all.push_back(random_tensor(t, {3, 5, 2}, 9));
    want += run_kernel(SumSquares{3}, {all.back()})[0].x[0];
    EXPECT_NEAR(run_kernel(MultiSumSquares{}, all)[0].x[0], want, 1e-12 * want);
    EXPECT_NEAR(run_kernel(MultiSumSquares{}, {all[3]})[0].x[0], run_kernel(SumSquares{1}, {all[3]})[0].x[0],
                1e-12 * want);
  }
}

TEST(AdamW, is_the_formula) {
  const double lr = 0.01, wd = 0.1, c1 = 1 - 0.9 * 0.9, c2 = 1 - 0.95 * 0.95;
  for (DType t : {DType::f32, DType::f64})
    if (tested(t))
      for (DType copy : {DType::bf16, DType::f32})
        for (i64 n : {0, 1, 7, 33, 129, 9001})
          for (bool decay : {false, true})
            for (bool with_copy : {false, true}) {
              const Moments s = moments(t, n);
              std::vector<Tensor> ins = {
                  s.w, s.g, s.m, s.v, scalars_of(0.25, 1), tensor(DType::f64, {4}, {lr, wd, c1, c2})};
              if (with_copy) ins.push_back(random_tensor(copy, {n}, 9));
              const auto out = run_kernel(Update{AdamW{0.9, 0.95, 1e-8}, 1, decay, with_copy}, ins);
              std::vector<double> w, m, v;
              for (size_t i = 0; i < size_t(n); ++i) {
                const double g = s.g.x[i] * 0.25;
                m.push_back(0.9 * s.m.x[i] + 0.1 * g);
                v.push_back(0.95 * s.v.x[i] + 0.05 * g * g);
                w.push_back(s.w.x[i] * (decay ? 1 - lr * wd : 1) - lr / c1 * m[i] / (std::sqrt(v[i] / c2) + 1e-8));
              }
              const double e = epsilon(t);
              expect_close(out[0], w, {8 * e, 8 * e}, "w");
              expect_close(out[1], m, {4 * e, 4 * e}, "m");
              expect_close(out[2], v, {12 * e, 0}, "v");
              if (with_copy) expect_close(out[3], w, {epsilon(copy) + 8 * e, 8 * e}, "copy");
            }
}

TEST(AdamW, reads_marked_rows_of_the_gradient) {
  const Tensor h = tensor(DType::f64, {4}, {0.01, 0.1, 0.19, 0.0975});
  for (i64 rows : {0, 2, 130})
    for (i64 width : {1, 7, 256, 300})
      for (const bool copy : {false, true}) {
        const Marked g = marked_rows(DType::f32, rows, width);
        const Shape shape = {rows, width};
        const Tensor w = random_tensor(DType::f32, shape, 4), m = random_tensor(DType::f32, shape, 5);
        Tensor v = random_tensor(DType::f32, shape, 6);
        for (double& x : v.x) x = std::abs(x);
        std::vector<Tensor> ins = {w, g.zeros, m, v, scalars_of(0.25, 1), h};
        if (copy) ins.push_back(random_tensor(DType::bf16, shape, 7));
        Update op{.rule = AdamW{.beta2 = 0.95}, .ndim = 2, .copy = copy};
        const auto want = run_kernel(op, ins);
        op.marks = true, ins[1] = g.x, ins.push_back(g.marks);
        const auto got = run_kernel(op, ins);
        for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].x, want[i].x) << rows << " x " << width << ": " << i;
      }
}

// A rule on tensors in bf16 gives the same as on the same numbers in f32. New states are rounded to nearest, ties to
// even. `narrow`: a bit for each of w (never set), g and the states.
void expect_rounded(const UpdateRule& rule, unsigned narrow, std::optional<DType> copy, i64 n, bool split) {
  Update op{rule, 1, true, copy.has_value() || split};
  std::vector<Tensor> wide, near;
  for (int i = 0; i < op.scalars_at(); ++i) {
    const bool is_narrow = narrow >> i & 1;
    Tensor t = random_tensor(is_narrow ? DType::bf16 : DType::f32, {n}, u64(i) + 1);
    if (i == 3)  // a second moment
      for (double& x : t.x) x = std::abs(x);
    near.push_back(t), wide.push_back(tensor(DType::f32, {n}, t.x));
  }
  if (split) {  // any low 16 bits and any bf16 form a number
    std::vector<double> rest;
    for (i64 i = 0; i < n; ++i) rest.push_back(double(mix(7, u64(i)) & 0xffff));
    near[0] = wide[0] = tensor(DType::u16, {n}, rest);
  }
  for (std::vector<Tensor>* ins : {&wide, &near}) {
    ins->push_back(scalars_of(0.25, 1)), ins->push_back(tensor(DType::f64, {4}, {0.01, 0.1, 0.19, 0.0975}));
    if (op.copy) ins->push_back(random_tensor(split ? DType::bf16 : *copy, {n}, 9));
  }
  const std::vector<Tensor> want = run_kernel(op, wide), got = run_kernel(op, near);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i].x, tensor(got[i].type.dtype, {n}, want[i].x).x)
        << name_of(rule) << " narrow " << narrow << " n " << n << ": result " << i;
}

TEST(Update, rounds_what_lies_in_bf16) {
  for (const UpdateRule& rule : {UpdateRule(AdamW{0.9, 0.95}), UpdateRule(Sgd{}), UpdateRule(Lion{})})
    for (unsigned narrow = 2; narrow < 1u << (2 + states_of(rule)); narrow += 2)
      for (const i64 n : {0, 1, 7, 129, 9001}) {
        for (const std::optional<DType> copy : {std::optional<DType>(), {DType::bf16}, {DType::f32}})
          expect_rounded(rule, narrow, copy, n, false);
        expect_rounded(rule, narrow, {}, n, true);
      }
  for (const i64 n : {0, 1, 7, 129, 9001}) expect_rounded(Mean{0.95}, 2, {}, n, false);  // the gradient of Muon
}

// Marks together with bf16 gradients.
TEST(AdamW, reads_marked_rows_of_a_bf16_gradient) {
  const Tensor h = tensor(DType::f64, {4}, {0.01, 0.1, 0.19, 0.0975});
  for (i64 rows : {2, 130})
    for (i64 width : {1, 7, 256, 300}) {
      const Marked g = marked_rows(DType::bf16, rows, width);
      const Shape shape = {rows, width};
      const Tensor w = random_tensor(DType::f32, shape, 4), m = random_tensor(DType::bf16, shape, 5);
      Tensor v = random_tensor(DType::bf16, shape, 6);
      for (double& x : v.x) x = std::abs(x);
      std::vector<Tensor> ins = {w, g.zeros, m, v, scalars_of(0.25, 1), h};
      Update op{.rule = AdamW{.beta2 = 0.95}, .ndim = 2};
      const auto want = run_kernel(op, ins);
      op.marks = true, ins[1] = g.x, ins.push_back(g.marks);
      const auto got = run_kernel(op, ins);
      for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].x, want[i].x) << rows << " x " << width << ": " << i;
    }
}

// Parameters of all sizes, with and without decay, in one op equal separate ones.
TEST(MultiUpdate, is_the_update_of_each) {
  for (const DType kept : {DType::f32, DType::bf16})
    for (bool copy : {false, true})
      for (double counts : {1.0, 0.0}) {
        const Tensor scalars = scalars_of(0.25, counts), h = tensor(DType::f64, {4}, {0.01, 0.1, 0.19, 0.0975});
        MultiUpdate op{AdamW{.beta2 = 0.95}, copy};
        std::vector<Tensor> ins, want;
        for (i64 n : {1, 7, 0, 33, 9001, 40000}) {
          Moments s = moments(DType::f32, n);
          s.g = tensor(kept, {n}, s.g.x), s.m = tensor(kept, {n}, s.m.x), s.v = tensor(kept, {n}, s.v.x);
          const Update one{op.rule, 1, n % 2 == 1, copy};
          std::vector<Tensor> alone = {s.w, s.g, s.m, s.v, scalars, h};
          ins.insert(ins.end(), {s.w, s.g, s.m, s.v});
          if (copy) alone.push_back(random_tensor(DType::bf16, {n}, 9)), ins.push_back(alone.back());
          for (Tensor& t : run_kernel(one, alone)) want.push_back(std::move(t));
          op.decay.push_back(n % 2 == 1);
        }
        ins.push_back(scalars), ins.push_back(h);
        const auto got = run_kernel(op, ins);
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].x, want[i].x) << "result " << i;
      }
}

// n numbers of a type, from a byte of a tensor's memory on.
std::vector<double> numbers_at(const Tensor& t, i64 byte, DType type, i64 n) {
  const Watched memory(t);
  std::vector<double> out;
  with_element(type, [&](auto zero) {
    using E = decltype(zero);
    const std::vector<std::byte> bytes = memory.bytes();
    for (i64 i = 0; i < n; ++i) {
      E x;
      std::memcpy(&x, bytes.data() + byte + i * i64(sizeof x), sizeof x);
      out.push_back(double(x));
    }
  });
  return out;
}

// State in a window with stretches of three parameters. It equals Update on each stretch, and nothing around them
// changes. Sizes are multiples of a window's alignment, because nothing writes between them.
TEST(WindowUpdate, is_the_update_of_its_stretches) {
  const i64 sizes[] = {640, 192, 40064};
  for (const DType kept : {DType::f32, DType::bf16})
    for (const bool copy : {true, false})
      for (const double counts : {1.0, 0.0}) {
        const Tensor scalars = scalars_of(0.25, counts), h = tensor(DType::f64, {4}, {0.01, 0.1, 0.19, 0.0975});
        std::vector<DType> types(2, kept);
        if (copy) types.insert(types.begin(), DType::f32);
        const Window window{types, {{128, 512}, {0, 192}, {64, 36032}}};
        std::vector<Tensor> leaves, others, want, want_weights;
        for (size_t k = 0; k < 3; ++k) {
          const auto& [begin, n] = window.stretches[k];
          Moments s = moments(DType::f32, sizes[k]);
          for (Tensor* t : {&s.g, &s.m, &s.v}) *t = tensor(kept, t->type.shape, t->x);
          const Tensor weights = copy ? random_tensor(DType::bf16, {sizes[k]}, 9) : s.w;
          if (copy) leaves.push_back(s.w);
          leaves.insert(leaves.end(), {s.m, s.v}), others.insert(others.end(), {s.g, weights});
          const auto cut = [&](const Tensor& t) {
            return tensor(t.type.dtype, {n}, {t.x.begin() + begin, t.x.begin() + begin + n});
          };
          std::vector<Tensor> ins = {cut(s.w), cut(s.g), cut(s.m), cut(s.v), scalars, h};
          if (copy) ins.push_back(cut(weights));
          std::vector<Tensor> alone = run_kernel(Update{.rule = AdamW{.beta2 = 0.95}, .ndim = 1, .copy = copy}, ins);
          Tensor after = weights;
          std::ranges::copy(copy ? alone[3].x : alone[0].x, after.x.begin() + begin);
          want_weights.push_back(after);
          for (size_t i = copy ? 0 : 1; i < 3; ++i) want.push_back(alone[i]);
        }
        std::vector<Tensor> ins = {run_kernel(FetchState{0, window}, leaves)[0], scalars, h};
        ins.insert(ins.end(), others.begin(), others.end());
        const auto got = run_kernel(WindowUpdate{.rule = AdamW{.beta2 = 0.95}, .window = window}, ins);
        for (size_t k = 0; k < 3; ++k) {
          EXPECT_EQ(got[1 + k].x, want_weights[k].x) << "weights " << k;
          for (int s = 0; s < window.states(); ++s) {
            EXPECT_EQ(numbers_at(got[0], window.place(k, s), types[size_t(s)], window.stretches[k].count),
                      want[k * size_t(window.states()) + size_t(s)].x)
                << "parameter " << k << ", state " << s;
          }
        }
      }
}

// Ten steps by torch.optim.AdamW(lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1) in f64, from w = [1, -2, 0.5].
// The gradient of step t (from 1) is [t, -1, 0.25 * w[2]].
TEST(AdamW, as_torch) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  std::vector<double> w = {1, -2, 0.5}, m(3), v(3);
  for (int t = 1; t <= 10; ++t) {
    const std::vector<double> h = {0.1, 0.1, 1 - std::pow(0.9, t), 1 - std::pow(0.95, t)};
    const auto out = run_kernel(
        Update{AdamW{0.9, 0.95}, 1},
        {tensor(DType::f64, {3}, w), tensor(DType::f64, {3}, {double(t), -1, 0.25 * w[2]}), tensor(DType::f64, {3}, m),
         tensor(DType::f64, {3}, v), scalars_of(1, 1), tensor(DType::f64, {4}, h)});
    w = out[0].x, m = out[1].x, v = out[2].x;
  }
  const double torch[] = {-0.00972004671719065, -0.8525849096674463, -0.2062471661518415};
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(w[i], torch[i], 1e-12);
}

TEST(Sgd, as_torch) {
  if (!tested(DType::f64)) GTEST_SKIP() << "this backend has no f64";
  std::vector<double> w = {1, -2, 0.5}, m(3);
  for (int t = 1; t <= 10; ++t) {
    const auto out = run_kernel(
        Update{Sgd{0.9}, 1}, {tensor(DType::f64, {3}, w), tensor(DType::f64, {3}, {double(t), -1, 0.25 * w[2]}),
                              tensor(DType::f64, {3}, m), scalars_of(1, 1), tensor(DType::f64, {4}, {0.1, 0.1, 0, 0})});
    w = out[0].x, m = out[1].x;
  }
  const double torch[] = {-16.171522098590764, 2.5470506503527797, -0.02841991529486865};
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(w[i], torch[i], 1e-11);
}

TEST(Sgd, is_the_formula) {
  for (DType t : {DType::f32, DType::f64})
    if (tested(t))
      for (i64 n : {0, 1, 7, 33, 129, 9001})
        for (bool with_copy : {false, true}) {
          const Moments s = moments(t, n);
          std::vector<Tensor> ins = {s.w, s.g, s.m, scalars_of(0.25, 1), tensor(DType::f64, {4}, {0.01, 0.1, 0, 0})};
          if (with_copy) ins.push_back(random_tensor(DType::bf16, {n}, 9));
          const auto out = run_kernel(Update{Sgd{0.9}, 1, true, with_copy}, ins);
          std::vector<double> w, m;
          for (size_t i = 0; i < size_t(n); ++i) {
            m.push_back(0.9 * s.m.x[i] + s.g.x[i] * 0.25 + 0.1 * s.w.x[i]);
            w.push_back(s.w.x[i] - 0.01 * m[i]);
          }
          const double e = epsilon(t);
          expect_close(out[1], m, {4 * e, 8 * e}, "m");
          expect_close(out[0], w, {4 * e, 4 * e}, "w");
          if (with_copy) expect_close(out[2], w, {epsilon(DType::bf16) + 4 * e, 4 * e}, "copy");
        }
}

TEST(Optimizers, leave_everything_when_the_step_does_not_count) {
  const Moments s = moments(DType::f32, 100);
  const Tensor copy = random_tensor(DType::bf16, {100}, 9), h = tensor(DType::f64, {4}, {0.01, 0.1, 0.1, 0.1});
  const auto adam =
      run_kernel(Update{.rule = AdamW{}, .ndim = 1, .copy = true}, {s.w, s.g, s.m, s.v, scalars_of(0, 0), h, copy});
  const auto sgd =
      run_kernel(Update{.rule = Sgd{}, .ndim = 1, .copy = true}, {s.w, s.g, s.m, scalars_of(0, 0), h, copy});
  EXPECT_TRUE(adam[0].x == s.w.x && adam[1].x == s.m.x && adam[2].x == s.v.x && adam[3].x == copy.x);
  EXPECT_TRUE(sgd[0].x == s.w.x && sgd[1].x == s.m.x && sgd[2].x == copy.x);
}

}  // namespace megalith::kernel_tests
