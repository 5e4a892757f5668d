// Boxes of row-major tensors: copying what two of them share, and cutting a range of elements into boxes.
#pragma once
#include <functional>

#include "base/shape.h"

namespace megalith {

Shape row_major_strides(const Shape& shape);  // in elements

// A box of a tensor as it lies in memory.
struct Box {
  const Shape& offset;  // in the whole tensor
  const Shape& shape;
  const Shape& strides;  // in elements
};

// Copies the elements that both boxes of the same tensor hold; returns how many they are. `element`: bytes of one.
i64 copy_common(const Box& from, const std::byte* from_data, const Box& to, std::byte* to_data, i64 element);

// The elements [begin, begin + n) of a tensor, in row-major order, as at most 2 * rank - 1 boxes, in that order.
void for_boxes(const Shape& shape, i64 begin, i64 n,
               const std::function<void(const Shape& offset, const Shape& box)>& f);

// The box as maximal runs of elements that follow each other: f(first element in the tensor, elements).
void for_runs(const Shape& shape, const Shape& offset, const Shape& box, const std::function<void(i64, i64)>& f);

}  // namespace megalith
