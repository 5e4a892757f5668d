// Maximum and sums of logits in one pass against a plain definition and the two passes.
#include <cmath>

#include "base/rng.h"
#include "exec/cuda/kernels/loss/cross_entropy.h"
#include "tests/exec_cuda/device_arrays.h"

namespace megalith::kernel_tests {

namespace {

template <class T>
void expect_as_two_passes(i64 vocab, i64 width) {
  const i64 rows = 5;
  std::vector<T> x;
  for (i64 i = 0; i < rows * width; ++i) x.push_back(T(i % width < vocab ? 3 * float(normal(mix_all(1, i))) : 1e4f));
  std::vector<i32> labels = {0, -100, i32(vocab - 1), i32(vocab), i32(vocab / 2)};
  OnDevice<T> logits(x);
  OnDevice<i32> label(labels);
  OnDevice<float> m(std::vector<float>(rows, NAN)), z(std::vector<float>(2 * rows, NAN)),
      m2(std::vector<float>(rows, NAN)), z2(std::vector<float>(2 * rows, NAN));
  cuda::VocabLaunch l{.dtype = dtype_of<T>::value, .rows = rows, .width = int(width), .valid = int(vocab)};
  l.length[0] = l.valid;
  cuda::launch_vocab_max_sums(l, logits.get(), label.get(), m.get(), z.get(), nullptr);
  cuda::launch_vocab_max(l, logits.get(), m2.get(), nullptr);
  cuda::launch_vocab_sums(l, logits.get(), label.get(), m2.get(), z2.get(), nullptr);
  EXPECT_EQ(m.host(), m2.host());
  for (i64 r = 0; r < rows; ++r) {
    double sum = 0;
    for (i64 i = 0; i < vocab; ++i) sum += std::exp(double(float(x[r * width + i])) - m.host()[r]);
    EXPECT_NEAR(z.host()[r], sum, 2e-6 * sum);
    EXPECT_NEAR(z2.host()[r], sum, 2e-6 * sum);
    EXPECT_EQ(z.host()[rows + r], z2.host()[rows + r]);
  }
}

}  // namespace

TEST(VocabMaxSums, is_max_then_sums) {
  for (auto [vocab, width] : {std::pair<i64, i64>{1, 8},
                              {3, 3},
                              {997, 1003},
                              {1000, 1024},
                              {20011, 20032},
                              {50257, 50304},
                              {131072, 131072}}) {
    SCOPED_TRACE(fmt::format("vocab {} width {}", vocab, width));
    expect_as_two_passes<float>(vocab, width);
    expect_as_two_passes<bf16>(vocab, width);
  }
}

// Of 2^32 logits and more, as long sequences of large vocabularies have: the last rows are their own, not the first.
TEST(VocabMaxSums, rows_beyond_four_billion_logits) {
  const i64 width = i64{1} << 17, rows = (i64{1} << 15) + 2;
  size_t available = 0, all = 0;
  cuda::check_cuda(cudaMemGetInfo(&available, &all), "test");
  bf16* logits = nullptr;
  if (i64(available) < rows * width * 3) GTEST_SKIP() << "needs 12 GiB of the GPU's memory";
  cuda::check_cuda(cudaMalloc(reinterpret_cast<void**>(&logits), size_t(rows * width) * sizeof(bf16)), "test");
  cuda::check_cuda(cudaMemset(logits, 0, size_t(rows * width) * sizeof(bf16)), "test");
  const std::vector<bf16> last(2, bf16(3.0f));  // columns 7 and 8 of the last row
  cuda::check_cuda(cudaMemcpy(logits + (rows - 1) * width + 7, last.data(), 2 * sizeof(bf16), cudaMemcpyDefault),
                   "test");
  OnDevice<i32> label(std::vector<i32>(size_t(rows), 7));
  OnDevice<float> m(std::vector<float>(size_t(rows), NAN)), z(std::vector<float>(size_t(2 * rows), NAN));
  cuda::VocabLaunch l{.dtype = DType::bf16, .rows = rows, .width = int(width), .valid = int(width)};
  l.length[0] = l.valid;
  const auto expect_last = [&] {
    const std::vector<float> most = m.host(), sums = z.host();
    EXPECT_EQ(most[0], 0);
    EXPECT_EQ(most[size_t(rows - 2)], 0);
    EXPECT_EQ(most[size_t(rows - 1)], 3);
    EXPECT_NEAR(sums[size_t(rows - 1)], 2 + double(width - 2) * std::exp(-3.0), 0.1);
    EXPECT_EQ(sums[0], float(width));
    EXPECT_EQ(sums[size_t(2 * rows - 1)], 0) << "the label's logit is the largest";
  };
  cuda::launch_vocab_max(l, logits, m.get(), nullptr);
  cuda::launch_vocab_sums(l, logits, label.get(), m.get(), z.get(), nullptr);
  expect_last();
  cuda::check_cuda(cudaMemset(m.get(), 0xFF, size_t(rows) * sizeof(float)), "test");
  cuda::launch_vocab_max_sums(l, logits, label.get(), m.get(), z.get(), nullptr);
  expect_last();
  cudaFree(logits);
}

}  // namespace megalith::kernel_tests
