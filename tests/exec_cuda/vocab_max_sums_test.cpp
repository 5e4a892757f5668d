// Maximum and sums of logits in one pass against a plain definition and the two passes.
#include <cmath>

#include "base/rng.h"
#include "exec/cuda/kernels/cross_entropy.h"
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

}  // namespace megalith::kernel_tests
