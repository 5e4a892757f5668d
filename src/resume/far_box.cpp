#include "resume/far_box.h"

#include <algorithm>

namespace megalith {
namespace {

constexpr i64 kMostBytes = i64{1} << 26;   // most bytes of one read
constexpr i64 kShortBytes = i64{1} << 16;  // reading a gap of this length takes less time than another request

class FarCopy {
 public:
  FarCopy(const ReadSlot& read, i64 at, const StridedBlock& box, const StridedBlock& to, std::byte* out, i64 element)
      : read_(read),
        at_(at),
        box_(box),
        to_(to),
        out_(out),
        element_(element),
        offset_(box.offset),
        shape_(box.shape) {}

  i64 copy() {
    common_ = common_part(box_, to_).size;
    if (std::ranges::find(common_, 0) != common_.end()) return 0;
    return box_.shape.empty() ? copy_rows() : copy_from(0);
  }

 private:
  // Reads whole rows of the box along dim d if only few bytes of a row are not wanted.
  bool reads_rows(size_t d) const {
    i64 wanted = element_;
    for (size_t k = d + 1; k < common_.size(); ++k) wanted *= common_[k];
    return box_.strides[d] * element_ - wanted <= kShortBytes;
  }

  // Copies the common elements. Along dims before d, offset_ and shape_ have one index.
  i64 copy_from(size_t d) {
    const bool whole = reads_rows(d);
    const i64 step = whole ? std::max<i64>(kMostBytes / (box_.strides[d] * element_), 1) : 1;
    const i64 begin = std::max(to_.offset[d], box_.offset[d]), end = begin + common_[d];
    i64 copied = 0;
    for (i64 row = begin; row < end; row += step) {
      offset_[d] = row, shape_[d] = std::min(step, end - row);
      copied += whole ? copy_rows() : copy_from(d + 1);
    }
    offset_[d] = box_.offset[d], shape_[d] = box_.shape[d];
    return copied;
  }

  // Reads the part of the box that offset_ and shape_ describe. Its elements are contiguous in the slot.
  i64 copy_rows() {
    i64 first = 0;
    for (size_t k = 0; k < shape_.size(); ++k) first += (offset_[k] - box_.offset[k]) * box_.strides[k];
    bytes_.resize(size_t(count(shape_) * element_));
    read_(at_ + first * element_, bytes_);
    return copy_common({offset_, shape_, box_.strides}, bytes_.data(), to_, out_, element_);
  }

  const ReadSlot& read_;
  const i64 at_;
  const StridedBlock &box_, &to_;
  std::byte* const out_;
  const i64 element_;
  Shape offset_, shape_, common_{};
  std::vector<std::byte> bytes_;
};

}  // namespace

i64 copy_far(const ReadSlot& read, i64 at, const StridedBlock& box, const StridedBlock& to, std::byte* out,
             i64 element) {
  return FarCopy(read, at, box, to, out, element).copy();
}

}  // namespace megalith
