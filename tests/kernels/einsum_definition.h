// The definition of an einsum, element by element in double, and the allowed error of a kernel.
#pragma once
#include <map>

#include "tests/kernels/kernel_run.h"

namespace megalith::kernel_tests {

struct Want {
  std::vector<double> y, size;  // the result, and the sum of the terms' magnitudes
  i64 terms = 1;
};

// The definition: a loop over every combination of letters.
inline Want naive(const std::string& spec, const Tensor& x, const Tensor& w) {
  const auto [ins, outs] = split_spec(spec);
  struct Letter {
    i64 n;
    size_t stride[3];
  };
  std::map<char, i64> n;
  for (size_t d = 0; d < ins[0].size(); ++d) n[ins[0][d]] = x.type.shape[d];
  for (size_t d = 0; d < ins[1].size(); ++d) n[ins[1][d]] = w.type.shape[d];
  auto stride = [&](const std::string& letters, char c) {
    const size_t at = letters.find(c);
    i64 s = at < letters.size();
    for (size_t d = at + 1; s && d < letters.size(); ++d) s *= n[letters[d]];
    return size_t(s);
  };
  std::vector<Letter> all;
  i64 combinations = 1, ys = 1;
  for (auto& [c, size] : n) {
    all.push_back({size, {stride(ins[0], c), stride(ins[1], c), stride(outs[0], c)}});
    combinations *= size;
  }
  for (char c : outs[0]) ys *= n[c];
  Want want{std::vector<double>(size_t(ys)), std::vector<double>(size_t(ys)), ys ? combinations / ys : 0};
  for (i64 i = 0; i < combinations; ++i) {
    size_t at[3] = {};
    i64 rest = i;
    for (const Letter& l : all) {
      for (int o = 0; o < 3; ++o) at[o] += size_t(rest % l.n) * l.stride[o];
      rest /= l.n;
    }
    const double term = x.x[at[0]] * w.x[at[1]];
    want.y[at[2]] += term, want.size[at[2]] += std::abs(term);
  }
  return want;
}

inline Shape shape_of(const std::string& letters, const std::map<char, i64>& sizes) {
  Shape s;
  for (char c : letters) s.push_back(sizes.at(c));
  return s;
}

// Compares y with the definition. Allowed are one rounding to y's type, and one of the sum type for each term. If
// something is added, the product may be rounded to y's type before. Then roundings of numbers of size `rounded` are
// allowed too.
inline void expect_einsum(const Tensor& got, const Want& want, const std::vector<double>& acc, const std::string& what,
                          const std::vector<double>& rounded = {}) {
  const DType y = got.type.dtype;
  ASSERT_EQ(got.x.size(), want.y.size()) << what;
  for (size_t i = 0; i < want.y.size(); ++i) {
    const double to = want.y[i] + (acc.empty() ? 0 : acc[i]),
                 size = want.size[i] + (acc.empty() ? 0 : std::abs(acc[i]));
    const double before = acc.empty() ? 0 : std::abs(want.y[i]) + (rounded.empty() ? 0 : rounded[i]);
    const double limit = epsilon(y) * (std::abs(to) + before) + double(want.terms + 1) * epsilon(accum_of(y)) * size;
    ASSERT_LE(std::abs(got.x[i] - to), limit * 1.01) << what << " at " << i;
  }
}

}  // namespace megalith::kernel_tests
