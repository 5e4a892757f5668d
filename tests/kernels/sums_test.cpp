// Add, AddGrad, Sum, Broadcast, Scale, Cast, Reshape, Ones.
#include <map>

#include "kernel_run.h"

namespace megalith::kernel_tests {

namespace {

Shape shape_of(const std::string& letters, const std::map<char, i64>& n) {
  Shape s;
  for (char c : letters) s.push_back(n.at(c));
  return s;
}

// For each element of a tensor with letters `big`: the offset of the element of one with letters `small` that it
// belongs to.
std::vector<size_t> places(const std::string& big, const std::string& small, const std::map<char, i64>& n) {
  std::vector<size_t> out(size_t(count(shape_of(big, n))));
  for (size_t i = 0; i < out.size(); ++i) {
    std::map<char, i64> at;
    i64 rest = i64(i);
    for (size_t d = big.size(); d-- > 0;) at[big[d]] = rest % n.at(big[d]), rest /= n.at(big[d]);
    i64 o = 0;
    for (char c : small) o = o * n.at(c) + at[c];
    out[i] = size_t(o);
  }
  return out;
}

const std::vector<std::map<char, i64>> kSizes = {{{'s', 1}, {'b', 1}, {'h', 1}},    {{'s', 7}, {'b', 3}, {'h', 33}},
                                                 {{'s', 129}, {'b', 2}, {'h', 7}},  {{'s', 2}, {'b', 1}, {'h', 9001}},
                                                 {{'s', 5}, {'b', 70}, {'h', 300}}, {{'s', 0}, {'b', 2}, {'h', 4}}};

}  // namespace

TEST(Add, of_a_part_of_the_dims) {
  for (const auto& n : kSizes)
    for (DType tx : tested_dtypes())
      for (DType ty : tested_dtypes())
        for (const std::string y : {"h", "sbh", "sh", "sb", "b", "", "hs"}) {
          const Tensor a = random_tensor(tx, shape_of("sbh", n), 1), b = random_tensor(ty, shape_of(y, n), 2);
          std::vector<double> want = a.x;
          const auto at = places("sbh", y, n);
          for (size_t i = 0; i < want.size(); ++i) want[i] += b.x[at[i]];
          const double e =
              epsilon(tx) + epsilon(tx == DType::f64 || ty == DType::f64 ? DType::f64 : DType::f32) + 1e-12;
          expect_close(run_kernel(Add{"sbh," + y + "->sbh"}, {a, b})[0], want, {2 * e, 2e-7}, "add " + y);
        }
}

TEST(AddGrad, adds_equal_types) {
  for (DType t : tested_dtypes())
    for (i64 n : {0, 1, 33, 10000}) {
      const Tensor a = random_tensor(t, {n}, 1), b = random_tensor(t, {n}, 2);
      std::vector<double> want = a.x;
      for (size_t i = 0; i < want.size(); ++i) want[i] += b.x[i];
      expect_close(run_kernel(AddGrad{1}, {a, b})[0], want, {epsilon(t) * 1.01, epsilon(accum_of(t)) * 10}, "add_grad");
    }
}

TEST(Sum, over_any_of_the_dims) {
  for (const auto& n : kSizes)
    for (DType tx : tested_dtypes())
      for (DType ty : tested_dtypes())
        for (const std::string y : {"h", "sbh", "sh", "sb", "b", "", "hs"}) {
          const Tensor x = random_tensor(tx, shape_of("sbh", n), 3);
          const auto at = places("sbh", y, n);
          std::vector<double> want(size_t(count(shape_of(y, n)))), size(want.size());
          for (size_t i = 0; i < at.size(); ++i) want[at[i]] += x.x[i], size[at[i]] += std::abs(x.x[i]);
          const double most = size.empty() ? 0 : *std::max_element(size.begin(), size.end());
          // f32 sums of at most 512 terms, then f64
          expect_close(run_kernel(Sum{"sbh->" + y, ty}, {x})[0], want,
                       {epsilon(ty) * 1.01, 512 * epsilon(accum_of(tx)) * most}, "sum " + y);
        }
}

// On both sides of where some GPUs have another kernel, rows and columns that fill the last tile and not.
TEST(Sum, of_tall_columns) {
  for (i64 rows : {2047, 2053})
    for (i64 h : {1592, 1600, 2120, 4800, 4808}) {
      const Tensor x = random_tensor(DType::bf16, {rows, 1, h}, 3);
      std::vector<double> want(size_t(h), 0), size(want);
      for (i64 i = 0; i < rows * h; ++i) {
        want[size_t(i % h)] += x.x[size_t(i)];
        size[size_t(i % h)] += std::abs(x.x[size_t(i)]);
      }
      const double most = *std::max_element(size.begin(), size.end());
      for (DType to : {DType::f32, DType::bf16})
        expect_close(run_kernel(Sum{"sbh->h", to}, {x})[0], want, {epsilon(to) * 1.01, 64 * epsilon(DType::f32) * most},
                     fmt::format("{} rows of {}", rows, h));
    }
}

TEST(Normalize, divides_each_of_a_stack_by_its_norm) {
  for (const DType t : {DType::f32, DType::bf16, DType::f64})
    if (tested(t))
      for (const auto& [stack, n] : std::vector<std::pair<i64, i64>>{{1, 1}, {3, 7}, {2, 33}, {4, 70000}, {0, 5}}) {
        Tensor x = random_tensor(t, {stack, n, 1}, 5);
        for (i64 i = 0; i < n && stack > 1; ++i) x.x[size_t(n + i)] = 0;  // stays 0
        const Tensor got = run_kernel(Normalize{}, {x})[0];
        for (i64 k = 0; k < stack; ++k) {
          double squares = 0;
          for (i64 i = 0; i < n; ++i) squares += x.x[size_t(k * n + i)] * x.x[size_t(k * n + i)];
          const double size = std::max(std::sqrt(squares), 1e-7);
          for (size_t i = size_t(k * n); i < size_t((k + 1) * n); ++i)
            EXPECT_NEAR(got.x[i], x.x[i] / size, epsilon(t)) << i;
        }
      }
}

// Added up one after the other in f32, a million tenths are wrong by thousands.
TEST(Sum, of_many_small_numbers) {
  const i64 n = 1 << 20;
  const Tensor x = tensor(DType::f32, {n}, std::vector<double>(size_t(n), 0.1));
  const Tensor rows = tensor(DType::f32, {n, 1}, x.x), pairs = tensor(DType::f32, {n / 2, 2}, x.x);
  const double sum = double(n) * double(0.1f), e = epsilon(DType::f32);
  EXPECT_NEAR(run_kernel(Sum{"s->", DType::f32}, {x})[0].x[0], sum, 1.01 * e * sum);
  EXPECT_NEAR(run_kernel(Sum{"sh->h", DType::f32}, {rows})[0].x[0], sum, 1.01 * e * sum);
  EXPECT_NEAR(run_kernel(Sum{"sh->h", DType::f32}, {pairs})[0].x[1], sum / 2, 65 * e * sum / 2);  // 64 rows in f32
}

TEST(Broadcast, repeats) {
  for (const auto& n : kSizes)
    for (DType tx : tested_dtypes())
      for (DType ty : tested_dtypes())
        for (const std::string x : {"h", "sbh", "sh", "sb", "b", "", "hs"}) {
          const Tensor small = random_tensor(tx, shape_of(x, n), 4),
                       like = random_tensor(DType::f32, shape_of("sbh", n), 5);
          const auto at = places("sbh", x, n);
          std::vector<double> want;
          for (size_t i : at) want.push_back(small.x[i]);
          expect_close(run_kernel(Broadcast{x + ",sbh->sbh", ty}, {small, like})[0], want, {epsilon(ty), 0},
                       "broadcast " + x);
        }
}

TEST(Elementwise, quotient) {
  for (DType t : tested_dtypes()) {
    if (t == DType::bf16) continue;
    const Tensor a = random_tensor(t, {}, 6), b = random_tensor(t, {}, 7);
    Tensor zero = b;
    zero.x = {0};
    expect_close(run_kernel(Quotient{}, {a, b})[0], {a.x[0] / b.x[0]}, {epsilon(t), 0}, "quotient");
    expect_close(run_kernel(Quotient{}, {a, zero})[0], {0}, {0, 0}, "quotient by zero");
  }
}

TEST(Elementwise, scale_cast_reshape_ones) {
  for (i64 rows : {0, 1, 7, 130})
    for (DType t : tested_dtypes()) {
      const Tensor x = random_tensor(t, {rows, 99}, 6);
      std::vector<double> scaled = x.x;
      for (double& v : scaled) v *= -1.7;
      expect_close(run_kernel(Scale{2, -1.7}, {x})[0], scaled, {epsilon(t) + 2.1 * epsilon(accum_of(t)), 0}, "scale");
      for (DType to : tested_dtypes()) expect_close(run_kernel(Cast{2, to}, {x})[0], x.x, {epsilon(to), 0}, "cast");
      expect_close(run_kernel(Reshape{"a(bc)->abc", {{'b', 9}, {'c', 11}}, {}}, {x})[0], x.x, {0, 0}, "reshape");
      const Ones ones{{t, {rows, 99}, whole(2)}};
      expect_close(run_kernel(ones, {})[0], std::vector<double>(x.x.size(), 1), {0, 0}, "ones");
    }
}

}  // namespace megalith::kernel_tests
