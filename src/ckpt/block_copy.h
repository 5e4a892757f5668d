// Boxes of row-major tensors: copying what two of them share, and cutting a range of elements into boxes.
#pragma once
#include <algorithm>
#include <functional>
#include <vector>

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

// Whether two boxes of a tensor share an element; a box is anything with an offset and a shape.
template <class B>
bool any_overlap(const Shape& whole, const std::vector<B>& boxes) {
  const auto overlap = [](const B& a, const B& b) {
    for (std::size_t d = 0; d < a.shape.size(); ++d)
      if (a.offset[d] >= b.offset[d] + b.shape[d] || b.offset[d] >= a.offset[d] + a.shape[d]) return false;
    return true;
  };
  struct Stretch {  // of the whole tensor, from a box's first element to its last
    i64 first, last;
    const B* box;
  };
  const Shape strides = row_major_strides(whole);
  std::vector<Stretch> sorted;
  for (const B& b : boxes) {
    if (count(b.shape) == 0) continue;
    Stretch& s = sorted.emplace_back(Stretch{0, 0, &b});
    for (std::size_t d = 0; d < strides.size(); ++d)
      s.first += b.offset[d] * strides[d], s.last += (b.offset[d] + b.shape[d] - 1) * strides[d];
  }
  std::ranges::sort(sorted, {}, &Stretch::first);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t k = i + 1; k < sorted.size() && sorted[k].first <= sorted[i].last; ++k)
      if (overlap(*sorted[i].box, *sorted[k].box)) return true;
  return false;
}

// The elements [begin, begin + n) of a tensor, in row-major order, as at most 2 * rank - 1 boxes, in that order.
void for_boxes(const Shape& shape, i64 begin, i64 n,
               const std::function<void(const Shape& offset, const Shape& box)>& f);

// The box as maximal runs of elements that follow each other: f(first element in the tensor, elements).
void for_runs(const Shape& shape, const Shape& offset, const Shape& box, const std::function<void(i64, i64)>& f);

}  // namespace megalith
