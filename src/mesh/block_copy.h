// Boxes of row-major tensors: copying what two of them share, and cutting a range of elements into boxes.
#pragma once
#include <functional>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/shape.h"

namespace megalith {

Shape row_major_strides(const Shape& shape);  // in elements

// Whether a box's elements follow each other in the whole tensor.
bool is_stretch(const Shape& whole, const Shape& box);
i64 element_at(const Shape& whole, const Shape& offset);  // its number in row-major order

// A box of a tensor in memory.
struct StridedBlock {
  const Shape& offset;  // in the whole tensor
  const Shape& shape;
  const Shape& strides;  // in elements
};

// The elements that two boxes of the same tensor hold: how many along each dimension, and where in either's memory.
struct CommonPart {
  Shape size;  // 0 along a dimension: they are empty
  i64 from_start = 0, to_start = 0;
};
CommonPart common_part(const StridedBlock& from, const StridedBlock& to);

// Copies a block of elements; all steps count elements, `element` is the bytes of one.
void copy_block(const Shape& size, const Shape& from_strides, const std::byte* from, const Shape& to_strides,
                std::byte* to, i64 element);

// Copies the elements that both boxes of the same tensor hold; returns how many they are.
i64 copy_common(const StridedBlock& from, const std::byte* from_data, const StridedBlock& to, std::byte* to_data,
                i64 element);

// The total number of elements of the boxes, or the largest number if it overflows.
template <class B>
i64 elements_of(const std::vector<B>& boxes) {
  i64 elements = 0;
  for (const B& b : boxes)
    if (__builtin_add_overflow(elements, count(b.shape), &elements)) return std::numeric_limits<i64>::max();
  return elements;
}

// Whether boxes, each an offset and a shape within the tensor, cover each of its elements exactly once. At most 8
// dimensions that are not 1, or one box. Takes linear time. They do under two conditions. They have as many elements,
// and only the tensor's own corners occur an odd number of times. (The parity of the corners shows that each element is
// covered an odd number of times. The total number shows that it is once.)
template <class B>
bool tiles(const Shape& whole, const std::vector<B>& boxes) {
  const i64 elements = elements_of(boxes);
  if (elements != count(whole)) return false;
  if (elements == 0 || boxes.size() == 1) return true;
  std::vector<std::pair<std::size_t, i64>> dims;  // that are not 1, with the steps of the grid of corners
  i64 corners = 1;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (whole[d] == 1) continue;
    dims.emplace_back(d, corners);
    if (dims.size() > 8 || __builtin_mul_overflow(corners, whole[d] + 1, &corners)) return false;
  }
  std::unordered_set<i64> odd;
  const auto meet = [&](const Shape& offset, const Shape& shape) {
    for (std::size_t corner = 0; corner < std::size_t{1} << dims.size(); ++corner) {
      i64 at = 0;
      for (std::size_t k = 0; k < dims.size(); ++k)
        at += (offset[dims[k].first] + (corner >> k & 1 ? shape[dims[k].first] : 0)) * dims[k].second;
      if (!odd.insert(at).second) odd.erase(at);
    }
  };
  for (const B& b : boxes)
    if (count(b.shape) > 0) meet(b.offset, b.shape);
  meet(Shape(whole.size(), 0), whole);
  return odd.empty();
}

// The elements [begin, begin + n) of a tensor in row-major order, as at most `2 * rank - 1` boxes, in that order.
void for_boxes(const Shape& shape, i64 begin, i64 n,
               const std::function<void(const Shape& offset, const Shape& box)>& f);

// The box as maximal runs of elements that follow each other: f(first element in the tensor, elements).
void for_runs(const Shape& shape, const Shape& offset, const Shape& box, const std::function<void(i64, i64)>& f);

// `rows` runs of elements, each `step` after the previous one.
struct Strip {
  i64 begin, run, step, rows;
};
// The same, runs at equal distances together.
void for_strips(const Shape& shape, const Shape& offset, const Shape& box, const std::function<void(const Strip&)>& f);

}  // namespace megalith
