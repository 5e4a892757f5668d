// CacheWrite and CachedAttention against their plain definitions.
#include "kernel_run.h"
#include "ops/relative_positions.h"
#include "tests/kernels/alibi.h"

namespace megalith::kernel_tests {

namespace {

struct Sizes {
  i64 s, t, b, g, r, d;
};
struct Case {
  Sizes n;
  i64 length;
  AttentionSpec at;
};

Tensor length_of(i64 n) { return tensor(DType::i32, {}, {double(n)}); }

// The definition for one query: scores, softmax and weighted values, in double.
void attend(const Case& c, const std::vector<Tensor>& in, i64 i, i64 head, double slope, std::vector<double>& out) {
  const auto [s, t, b, g, r, d] = c.n;
  const i64 row = head / (g * r), group = row * g + head % (g * r) / r, position = c.length + i;
  const double* q = in[0].x.data() + (i * b * g * r + head) * d;
  const i64 first = c.at.window > 0 ? std::max<i64>(0, position - c.at.window + 1) : 0;
  std::vector<double> score;
  for (i64 p = first; p <= position; ++p) {
    const double* k = in[1].x.data() + (p * b * g + group) * d;
    double dot = 0;
    for (i64 e = 0; e < d; ++e) dot += q[e] * k[e];
    const double bias = c.at.buckets
                            ? in[4].x[size_t(head % (g * r) * c.at.buckets +
                                             relative_bucket(p - position, false, c.at.buckets, c.at.max_distance))]
                            : alibi_bias(c.at, slope, p, position);
    score.push_back(dot * c.at.scale + bias);
  }
  const double most = *std::ranges::max_element(score);
  double sum = 0;
  for (double& v : score) sum += v = std::exp(v - most);
  for (i64 e = 0; e < d; ++e) {
    double o = 0;
    for (i64 p = first; p <= position; ++p) o += score[p - first] / sum * in[2].x[(p * b * g + group) * d + e];
    out.push_back(o);
  }
}

void expect_definition(const Case& c, DType type) {
  const auto [s, t, b, g, r, d] = c.n;
  std::vector<Tensor> in = {random_tensor(type, {s, b, g, r, d}, 1), random_tensor(type, {t, b, g, d}, 2),
                            random_tensor(type, {t, b, g, d}, 3), length_of(c.length)};
  if (c.at.buckets) in.push_back(random_tensor(type, {g, r, c.at.buckets}, 4));
  const auto slopes = alibi_slopes(g * r);
  std::vector<double> want;
  for (i64 i = 0; i < s; ++i)
    for (i64 head = 0; head < b * g * r; ++head) attend(c, in, i, head, c.at.alibi ? slopes[head % (g * r)] : 0, want);
  expect_close(run_kernel(CachedAttention{c.at}, in)[0], want, {epsilon(type), 3e-6}, "cached attention");
}

}  // namespace

TEST(CachedAttention, is_its_definition) {
  const Case cases[] = {
      {{1, 1, 1, 1, 1, 1}, 0, {.scale = 1}},
      {{1, 40, 2, 2, 3, 32}, 17, {.scale = 0.2}},
      {{9, 40, 1, 2, 2, 65}, 31, {.scale = 0.1}},
      {{3, 1300, 1, 1, 2, 128}, 1200, {.scale = 0.09}},
      {{4, 1300, 2, 1, 1, 33}, 1100, {.scale = 0.2, .window = 600}},
      {{5, 64, 1, 2, 3, 16}, 50, {.scale = 0.25, .window = 9}},
      {{2, 50, 2, 2, 3, 256}, 30, {.scale = 0.06, .alibi = true}},
      {{2, 50, 2, 2, 3, 64}, 30, {.scale = 0.12, .alibi = true, .alibi_scaled = true}},
      {{2, 50, 2, 2, 3, 64}, 30, {.scale = 0.12, .buckets = 12, .max_distance = 24}},
      {{3, 700, 1, 2, 2, 40}, 650, {.scale = 0.15, .buckets = 32, .max_distance = 128}},
      {{2, 700, 1, 3, 4, 16}, 600, {.scale = 0.25, .alibi = true, .alibi_scaled = true}},
  };
  for (const Case& c : cases)
    for (DType type : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(fmt::format("{} of {} width {} in {}", c.length, c.n.t, c.n.d, name_of(type)));
      expect_definition(c, type);
    }
}

TEST(CacheWrite, rows_in_place) {
  for (DType type : {DType::f32, DType::bf16})
    for (i64 d : {1, 3, 8, 33}) {
      const Tensor cache = random_tensor(type, {7, 2, 3, d}, 1), x = random_tensor(type, {2, 2, 3, d}, 2);
      for (i64 at : {0, 3, 5}) {
        std::vector<double> want = cache.x;
        std::ranges::copy(x.x, want.begin() + at * 6 * d);
        expect_close(run_kernel(CacheWrite{}, {cache, x, length_of(at)})[0], want, {0, 0}, "cache");
      }
    }
}

}  // namespace megalith::kernel_tests
