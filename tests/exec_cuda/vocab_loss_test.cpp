// The loss's sums and the logits' gradient at once, at sizes of real vocabularies, against a plain definition.
#include <cmath>

#include "base/rng.h"
#include "exec/cuda/kernels/loss/cross_entropy.h"
#include "tests/exec_cuda/device_arrays.h"

namespace megalith::kernel_tests {

namespace {

struct Logits {
  i64 rows, vocab, width;
  std::vector<float> x;  // as the kernel sees them
  std::vector<i32> labels;
  std::vector<float> dy;
};

template <class T>
Logits make_logits(i64 vocab, i64 width) {
  const i64 rows = 5;
  Logits k{rows, vocab, width, {}, {0, -100, i32(vocab - 1), i32(vocab), i32(vocab / 2)}, {1, 1, 0.5f, 2, 0}};
  for (i64 i = 0; i < rows * width; ++i)
    k.x.push_back(float(T(i % width < vocab ? 3 * float(normal(mix_all(1, i))) : 1e4f)));
  return k;
}

template <class T>
void expect_definition(const Logits& k, const std::vector<float>& z, const std::vector<T>& dx) {
  const double eps = sizeof(T) == 2 ? 1.0 / 256 : 1e-5;  // one rounding to bf16; f32: of exponents up to 20
  for (i64 r = 0; r < k.rows; ++r) {
    const float* x = k.x.data() + r * k.width;
    const double m = *std::max_element(x, x + k.vocab);
    double sum = 0;
    for (i64 i = 0; i < k.vocab; ++i) sum += std::exp(double(x[i]) - m);
    EXPECT_NEAR(z[size_t(r)], sum, 2e-6 * sum);
    const i32 label = k.labels[size_t(r)];
    const bool here = label >= 0 && label < k.vocab;
    EXPECT_EQ(z[size_t(k.rows + r)], here ? x[label] - float(m) : 0);
    for (i64 i = 0; i < k.width; ++i) {
      const double p = i < k.vocab ? std::exp(double(x[i]) - m) / sum : 0;
      const double want = k.dy[size_t(r)] * (p - (here && i == label));
      ASSERT_NEAR(float(dx[size_t(r * k.width + i)]), want, eps * std::abs(want) + 1e-12) << "row " << r << " at " << i;
    }
  }
}

template <class T>
void expect_loss(i64 vocab, i64 width) {
  const Logits k = make_logits<T>(vocab, width);
  cuda::VocabLaunch rows{.dtype = dtype_of<T>::value, .rows = k.rows, .width = int(width), .valid = int(vocab)};
  rows.length[0] = rows.valid;
  const cuda::VocabLossLaunch l = cuda::plan_vocab_loss(rows, 90);
  ASSERT_GT(l.blocks, 0);
  const std::vector<T> x(k.x.begin(), k.x.end());
  OnDevice<i32> labels(k.labels);
  OnDevice<float> dy(k.dy), z(std::vector<float>(size_t(2 * k.rows), NAN)),
      z2(std::vector<float>(size_t(2 * k.rows), NAN));
  OnDevice<T> logits(x), dx(std::vector<T>(x.size(), T(NAN)));
  cuda::launch_vocab_loss(l, {dy.get(), logits.get(), labels.get(), z.get(), dx.get()}, nullptr);
  expect_definition<T>(k, z.host(), dx.host());
  cuda::launch_vocab_loss(l, {dy.get(), logits.get(), labels.get(), z2.get(), logits.get()}, nullptr);
  EXPECT_EQ(z.host(), z2.host()) << "a second run gives other bits";
  const std::vector<T> once = dx.host(), over = logits.host();
  for (size_t i = 0; i < once.size(); ++i) ASSERT_EQ(float(once[i]), float(over[i])) << "in place, at " << i;
}

}  // namespace

TEST(VocabLoss, is_its_definition) {
  int capability = 0;
  cuda::check_cuda(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, 0), "device");
  if (capability != 9) GTEST_SKIP() << "the kernel is Hopper's";
  for (auto [vocab, width] : {std::pair<i64, i64>{1, 8},
                              {997, 1000},
                              {1000, 1024},
                              {20011, 20032},
                              {32000, 32000},
                              {50257, 50304},
                              {65000, 65536},
                              {128256, 128256},
                              {131072, 131072}}) {
    SCOPED_TRACE(fmt::format("vocab {} width {}", vocab, width));
    if (width <= 65536) expect_loss<float>(vocab, width);  // wider rows go by the other kernels
    expect_loss<bf16>(vocab, width);
  }
}

TEST(VocabLoss, takes_rows_that_fit) {
  const auto blocks = [](DType t, int width, int capability) {
    return cuda::plan_vocab_loss({.dtype = t, .rows = 8, .width = width, .valid = width}, capability).blocks;
  };
  EXPECT_EQ(blocks(DType::bf16, 131072, 90), 8);
  EXPECT_EQ(blocks(DType::bf16, 50304, 90), 4);
  EXPECT_EQ(blocks(DType::bf16, 8, 90), 1);
  EXPECT_EQ(blocks(DType::f32, 65536, 90), 8);
  EXPECT_EQ(blocks(DType::bf16, 131080, 90), 0);
  EXPECT_EQ(blocks(DType::bf16, 50257, 90), 0);
  EXPECT_EQ(blocks(DType::bf16, 50304, 80), 0);
}

}  // namespace megalith::kernel_tests
