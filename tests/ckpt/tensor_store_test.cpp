#include "ckpt/tensors/tensor_store.h"

#include <fmt/format.h>

#include <fstream>
#include <numeric>
#include <random>

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

TEST(TensorStore, refuses_parts_that_do_not_fit) {
  TempDir dir;
  spit(dir / "x", std::string(96, 'x'));
  const auto add = [&](std::vector<StoredBox> boxes) {
    TensorStore store("x");
    store.add_file(dir / "x");
    store.add_tensor({"t", DType::f32, {4, 6}}, std::move(boxes));
  };
  add({{{0, 0}, {4, 6}, {6, 1}, 0, 0}});
  add({{{0, 0}, {4, 3}, {3, 1}, 0, 0}, {{0, 3}, {4, 3}, {3, 1}, 0, 48}});
  expect_error([&] { add({{{0, 0}, {4, 6}, {6, 1}, 0, 4}}); }, "does not fit");   // outside the file
  expect_error([&] { add({{{1, 0}, {4, 6}, {6, 1}, 0, 0}}); }, "does not fit");   // outside the tensor
  expect_error([&] { add({{{0, 0}, {4, 5}, {5, 1}, 0, 0}}); }, "hold 20 of 24");  // a gap
  expect_error([&] { add({{{0, 0}, {4, 6}, {i64{1} << 62, 1}, 0, 0}}); }, "does not fit");
  expect_error([&] { add({{{0, 0}, {2, 6}, {6, 1}, 0, 0}, {{1, 0}, {2, 6}, {6, 1}, 0, 0}}); }, "overlap");
}

// A file of consecutive numbers from 0.
constexpr i64 kNumbers = 6'000'100;
void write_numbers(const std::string& path) {
  std::vector<i32> numbers(kNumbers);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(numbers.data()), kNumbers * 4);
}

// Checks a box of the tensor. Element `(i, j, k)` is `first + i s0 + j s1 + k s2`.
void expect_box(const TensorStore& store, const Shape& offset, const Shape& box, i64 first, const Shape& strides) {
  std::vector<i32> values(std::size_t(count(box)), -1);
  store.read_box_as(0, offset, box, DType::i32, std::as_writable_bytes(std::span(values)));
  std::size_t at = 0;
  i64 wrong = 0;
  for (i64 i = 0; i < box[0]; ++i)
    for (i64 j = 0; j < box[1]; ++j)
      for (i64 k = 0; k < box[2]; ++k) {
        const i64 number =
            first + (offset[0] + i) * strides[0] + (offset[1] + j) * strides[1] + (offset[2] + k) * strides[2];
        wrong += values[at++] != i32(number);
      }
  EXPECT_EQ(wrong, 0) << to_string(box) << " at " << to_string(offset) << ", steps " << to_string(strides);
}

// Ranges that are contiguous in the file, that are parts of longer ones, and that are far apart; each with both ways
// of reading.
TEST(TensorStore, reads_blocks_however_they_lie_in_the_file) {
  TempDir dir;
  write_numbers(dir / "numbers");
  struct Case {
    Shape shape, strides;
  };
  const Case cases[] = {
      {{3, 1000, 2000}, {2'000'000, 2000, 1}},  // row-major: whole boxes and columns of 8 MB each
      {{2000, 1000, 3}, {1, 2000, 2'000'000}},  // the other way round
      {{3, 40, 500}, {2'000'000, 50'000, 7}},   // far apart in two dimensions, gaps in the third
      {{30, 3, 60'000}, {200'000, 60'000, 1}},  // gaps between runs of several chunks
      {{4, 5, 6}, {30, 6, 1}},                  // small
      {{3, 7, 100}, {0, 100, 1}},               // the same number repeated, as in an expanded tensor
      {{1, 1, 2'500'000}, {0, 0, 2}},           // every second number
  };
  std::mt19937 random(7);
  for (const bool past_cache : {false, true})
    for (const Case& c : cases) {
      TensorStore store("x", past_cache);
      store.add_file(dir / "numbers");
      const i64 first = 11;
      store.add_tensor({"t", DType::i32, c.shape}, {{{0, 0, 0}, c.shape, c.strides, 0, first * 4}});
      expect_box(store, {0, 0, 0}, c.shape, first, c.strides);
      for (int n = 0; n < 6; ++n) {
        Shape offset, box;
        for (const i64 d : c.shape) {
          offset.push_back(i64(random() % u64(d)));
          box.push_back(1 + i64(random() % u64(d - offset.back())));
        }
        expect_box(store, offset, box, first, c.strides);
      }
    }
}

// A file that disappears during a read gives an Error with its name.
TEST(TensorStore, tells_of_a_file_that_was_cut_meanwhile) {
  TempDir dir;
  write_numbers(dir / "numbers");
  TensorStore store("x");
  store.add_file(dir / "numbers");
  store.add_tensor({"t", DType::i32, {kNumbers}}, {{{0}, {kNumbers}, {1}, 0, 0}});
  fs::resize_file(dir / "numbers", 1000);
  std::vector<std::byte> out(kNumbers * 4);
  expect_error([&] { store.read_range(0, 0, kNumbers, out.data()); }, "numbers ends at byte 1000");
}

}  // namespace
}  // namespace megalith
