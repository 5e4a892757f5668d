// Copies of boxes against element by element: rows of all lengths and alignments, many boxes, strided on both sides.
#include "exec/cuda/kernels/box_copy.h"

#include <cstring>
#include <numeric>

#include "base/rng.h"
#include "mesh/pieces.h"
#include "tests/exec_cuda/device_arrays.h"
#include "tests/exec_cuda_ranks/gpus.h"

namespace megalith {

namespace {

using kernel_tests::OnDevice;

void copy_here(const Box& b, i64 element, const u8* from, u8* to) {
  std::vector<i64> at(b.sizes.size(), 0);
  for (i64 n = b.elements(); n > 0; --n) {
    i64 f = b.from, t = b.to;
    for (size_t d = 0; d < at.size(); ++d) f += at[d] * b.from_strides[d], t += at[d] * b.to_strides[d];
    std::memcpy(to + t * element, from + f * element, size_t(element));
    for (int d = int(at.size()) - 1; d >= 0 && ++at[d] == b.sizes[d]; --d) at[d] = 0;
  }
}

void expect_copies(const std::vector<Box>& boxes, i64 element, i64 elements) {
  const i64 bytes = elements * element;
  std::vector<u8> x(static_cast<size_t>(bytes)), want(x.size(), 0xA5);
  for (size_t i = 0; i < x.size(); ++i) x[i] = u8(mix_all(3, i));
  for (const Box& b : boxes) copy_here(b, element, x.data(), want.data());
  OnDevice<u8> in(x), out(std::vector<u8>(x.size(), 0xA5));
  cuda::BoxCopyList list;
  list.add(boxes, element, {cuda::Memory::in}, {cuda::Memory::out});
  list.run(reinterpret_cast<std::byte*>(in.get()), reinterpret_cast<std::byte*>(out.get()), nullptr, nullptr);
  EXPECT_EQ(out.host(), want);
}

class BoxCopy : public OnGpus<1> {};

}  // namespace

TEST_F(BoxCopy, rows_of_any_length_and_place) {
  for (const i64 element : {2, 4, 8})
    for (const i64 row : {1, 2, 3, 4, 7, 8, 24, 1000})
      for (const i64 place : {0, 1, 8})
        expect_copies({{place, 2 * place, {5, 3, row}, {3 * (row + 8), row + 8, 1}, {4 * (row + 16), row + 16, 1}}},
                      element, 30 * (row + 16));
}

TEST_F(BoxCopy, more_boxes_than_one_launch_takes) {
  std::vector<Box> boxes;
  for (i64 k = 0; k < 100; ++k) boxes.push_back({k * 300, (99 - k) * 300, {3, 1 + k % 80}, {100, 1}, {90, 1}});
  expect_copies(boxes, 4, 30000);
}

TEST_F(BoxCopy, large_and_deep) {
  expect_copies({{0, 0, {2000, 1500}, {2048, 1}, {1500, 1}}}, 2, 2048 * 2000);
  expect_copies({{1, 0, {3, 4, 5, 6, 7}, {4 * 5 * 6 * 8, 5 * 6 * 8, 6 * 8, 8, 1}, {7, 21, 84, 420, 1}}}, 2, 6000);
}

TEST(BoxCopyList, too_many_dims_are_an_error) {
  cuda::BoxCopyList list;
  EXPECT_THROW(list.add({{0, 0, {2, 2, 2, 2, 2, 2}, {99, 50, 20, 9, 3, 1}, {99, 50, 20, 9, 3, 1}}}, 4,
                        {cuda::Memory::in}, {cuda::Memory::out}),
               Error);
}

}  // namespace megalith
