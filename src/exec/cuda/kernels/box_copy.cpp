#include "exec/cuda/kernels/box_copy.h"

#include <algorithm>

#include "mesh/pieces.h"

namespace megalith::cuda {

namespace {

// The widest word that divides a box's rows, offsets and strides.
i64 word_of(const Box& b, i64 element, i64 from, i64 to) {
  const int last = int(b.sizes.size()) - 1;
  i64 all = (b.sizes[last] * element) | from | to;
  for (int d = 0; d < last; ++d) all |= b.from_strides[d] * element | b.to_strides[d] * element;
  return std::min<i64>(16, all & -all);
}

// The maximum words of a box, because they are counted in 32 bits.
constexpr i64 kMostWords = i64{1} << 31;

}  // namespace

void BoxCopyList::add(const std::vector<Box>& boxes, i64 element, At from, At to) {
  for (const Box& b : boxes) add(b, element, from, to);
}

void BoxCopyList::add(const Box& b, i64 element, At from, At to) {
  const i64 n = b.elements();
  if (n == 0) return;
  const int dims = int(b.sizes.size());
  check(dims <= BoxCopy::kMostDims, "a relayout with boxes of {} dims: CUDA kernels take at most {}", dims,
        BoxCopy::kMostDims);
  const i64 from_bytes = from.bytes + b.from * element, to_bytes = to.bytes + b.to * element;
  const i64 width = word_of(b, element, from_bytes, to_bytes);
  if (n * element / width > kMostWords) {  // cut in two along the longest dim
    const int d = int(std::max_element(b.sizes.begin(), b.sizes.end()) - b.sizes.begin());
    Box first = b, second = b;
    first.sizes[d] = b.sizes[d] / 2, second.sizes[d] -= first.sizes[d];
    second.from += first.sizes[d] * b.from_strides[d], second.to += first.sizes[d] * b.to_strides[d];
    add(first, element, from, to), add(second, element, from, to);
    return;
  }
  BoxCopy c{u8(from.memory), u8(to.memory), u8(width), u8(dims), 0, u32(n * element / width), from_bytes, to_bytes};
  for (int k = 0; k < dims; ++k) {
    const int d = dims - 1 - k;
    c.sizes[k] = u32(k == 0 ? b.sizes[d] * element / width : b.sizes[d]);
    c.divisors[k] = divisor_of(c.sizes[k]);
    c.from_strides[k] = k == 0 ? width : b.from_strides[d] * element;
    c.to_strides[k] = k == 0 ? width : b.to_strides[d] * element;
  }
  constexpr u32 kPerBlock = BoxCopies::kThreads * BoxCopies::kEach;
  if (launches_.empty() || launches_.back().count == BoxCopies::kMost || launches_.back().blocks > (1u << 30))
    launches_.emplace_back();
  BoxCopies& l = launches_.back();
  c.first_block = l.blocks;
  l.blocks += (c.words + kPerBlock - 1) / kPerBlock;
  l.box[l.count++] = c;
}

void BoxCopyList::run(const std::byte* in, std::byte* out, std::byte* workspace, cudaStream_t stream) const {
  for (const BoxCopies& l : launches_) launch(l, in, out, workspace, stream);
}

}  // namespace megalith::cuda
