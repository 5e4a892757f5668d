// The messages of a relayout: the boxes that are both in one rank's old block and in another's new block. Interpreters
// move them; this code does not.
#pragma once
#include <algorithm>
#include <vector>

#include "mesh/layout.h"

namespace megalith {

// A rank's block: along each dim the runs of global indices, in local order. Its elements are row-major.
using Block = std::vector<std::vector<Run>>;
Block block_of(const Mesh& mesh, const Shape& shape, const Layout& layout, const Coord& coord);

// A sub-array that is in two memories, in elements. The last dim is dense in both; dims that are dense in both are
// merged.
struct Box {
  i64 from = 0, to = 0;  // where it begins
  std::vector<i64> sizes, from_strides, to_strides;
  i64 elements() const;
  bool dense() const { return sizes.size() == 1; }  // one piece of memory on both sides
};

// The boxes that two blocks of one array share, `from` and `to` their places in either. Sender and receiver get the
// same list, so packed one after another it is the message.
std::vector<Box> common_boxes(const Block& from, const Block& to);
i64 elements(const std::vector<Box>& boxes);

// Copies a box from one memory to the other.
template <class T>
void copy_box(const Box& b, const T* from, T* to) {
  const int dims = int(b.sizes.size());
  const i64 length = b.sizes.back(), rows = b.elements() / std::max<i64>(length, 1);
  std::vector<i64> at(size_t(dims), 0);
  const T* f = from + b.from;
  T* t = to + b.to;
  for (i64 r = 0; r < rows; ++r) {
    std::copy(f, f + length, t);
    for (int d = dims - 2; d >= 0; --d) {
      f += b.from_strides[d], t += b.to_strides[d];
      if (++at[d] < b.sizes[d]) break;
      f -= b.sizes[d] * b.from_strides[d], t -= b.sizes[d] * b.to_strides[d], at[d] = 0;
    }
  }
}

// The same boxes with one side packed: consecutive from `start` on.
std::vector<Box> packed_to(std::vector<Box> boxes, i64 start = 0);    // memory -> message
std::vector<Box> packed_from(std::vector<Box> boxes, i64 start = 0);  // message -> memory
// Whether memory order is message order: the message can be sent from, or received into, its place at boxes[0].
bool is_message_from(const std::vector<Box>& boxes);
bool is_message_to(const std::vector<Box>& boxes);

}  // namespace megalith
