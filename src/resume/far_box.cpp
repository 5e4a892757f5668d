#include "resume/far_box.h"

#include <algorithm>

namespace megalith {

i64 copy_far(const FarSlot& slot, i64 at, const StridedBlock& box, const StridedBlock& to, std::byte* out,
             i64 element) {
  constexpr i64 kMostBytes = i64{1} << 26;  // at a time
  const Shape common = common_part(box, to).size;
  if (std::ranges::find(common, 0) != common.end()) return 0;
  std::vector<std::byte> bytes;
  Shape offset = box.offset, shape = box.shape;
  const auto copy_rows = [&](i64 from) {
    bytes.resize(size_t(count(shape) * element));
    slot.read(from, bytes);
    return copy_common({offset, shape, box.strides}, bytes.data(), to, out, element);
  };
  if (shape.empty()) return copy_rows(at);
  const i64 begin = std::max<i64>(to.offset[0] - box.offset[0], 0), end = begin + common[0];
  const i64 row_bytes = box.strides[0] * element, step = std::max<i64>(kMostBytes / row_bytes, 1);
  i64 copied = 0;
  for (i64 row = begin; row < end; row += step) {
    offset[0] = box.offset[0] + row;
    shape[0] = std::min(step, end - row);
    copied += copy_rows(at + row * row_bytes);
  }
  return copied;
}

}  // namespace megalith
