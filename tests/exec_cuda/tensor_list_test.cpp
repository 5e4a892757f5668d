// Updates and sums of squares of many tensors of odd sizes, compared with one tensor at a time. One launch cannot take
// them all.
#include <cmath>

#include "base/rng.h"
#include "exec/cuda/kernels/update/optimizer.h"
#include "exec/cuda/kernels/update/update.h"
#include "tests/exec_cuda/device_arrays.h"

namespace megalith::kernel_tests {

namespace {

constexpr i64 kTensors = 2500;

i64 size_at(i64 i) { return i % 7 == 0 ? 0 : i % 501 == 3 ? 40000 + i : i64(mix_all(9, i) % 200); }
std::vector<i64> starts() {  // multiples of four elements
  std::vector<i64> out = {0};
  for (i64 i = 0; i < kTensors; ++i) out.push_back(out.back() + (size_at(i) + 3) / 4 * 4);
  return out;
}
std::vector<float> list_numbers(u64 seed, i64 n, bool positive = false) {
  std::vector<float> x;
  for (i64 i = 0; i < n; ++i) x.push_back(float(normal(mix_all(seed, i))));
  if (positive)
    for (float& v : x) v *= v;
  return x;
}

struct State {
  explicit State(i64 n)
      : w(list_numbers(1, n)),
        g(list_numbers(2, n)),
        m(list_numbers(3, n)),
        v(list_numbers(4, n, true)),
        copy(std::vector<bf16>(size_t(n))) {}
  OnDevice<float> w, g, m, v;
  OnDevice<bf16> copy;

  cuda::UpdateItem item(i64 start, i64 i) {
    return {w.get() + start, g.get() + start, {m.get() + start, v.get() + start}, i % 5 ? copy.get() + start : nullptr,
            size_at(i),      i % 2 == 0};
  }
};

}  // namespace

TEST(TensorList, many_updates_are_single_ones) {
  const auto at = starts();
  State together(at.back()), apart(at.back());
  OnDevice<double> scalars({0, 0, 0.25, 1}), step_scalars_in({0.01, 0.1, 0.19, 0.0975});
  const cuda::UpdateLaunch l{AdamW{0.9, 0.95, 1e-8}, {DType::bf16}};
  std::vector<cuda::UpdateItem> items;
  for (i64 i = 0; i < kTensors; ++i) {
    items.push_back(together.item(at[i], i));
    const cuda::UpdateItem one = apart.item(at[i], i);
    cuda::launch(l, {&one, 1}, {scalars.get(), step_scalars_in.get()}, nullptr);
  }
  cuda::launch(l, items, {scalars.get(), step_scalars_in.get()}, nullptr);
  EXPECT_EQ(together.w.host(), apart.w.host());
  EXPECT_EQ(together.m.host(), apart.m.host());
  EXPECT_EQ(together.v.host(), apart.v.host());
  const auto copies = together.copy.host(), others = apart.copy.host();
  for (size_t i = 0; i < copies.size(); ++i) ASSERT_EQ(copies[i].bits, others[i].bits) << i;
  EXPECT_NE(together.w.host(), list_numbers(1, at.back()));
}

TEST(TensorList, squares_of_all) {
  const auto at = starts();
  const auto x = list_numbers(2, at.back());
  OnDevice<float> there(x);
  std::vector<cuda::SquaresItem> items;
  double want = 0;
  for (i64 i = 0; i < kTensors; ++i) {
    items.push_back({there.get() + at[i], size_at(i)});
    for (i64 k = 0; k < size_at(i); ++k) want += double(x[at[i] + k]) * double(x[at[i] + k]);
  }
  OnDevice<double> partials(std::vector<double>(size_t(cuda::sum_squares_partials(items)), NAN)), out({NAN});
  cuda::launch_sum_squares(DType::f32, items, partials.get(), out.get(), nullptr);
  EXPECT_NEAR(out.host()[0], want, 1e-12 * want);
}

}  // namespace megalith::kernel_tests
