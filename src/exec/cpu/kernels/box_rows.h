// Loops over a rank's block of a tensor by boxes (ops/boxes.h) and rows of the last dim. Boxes that differ only in
// their offset along the last dim form a band. The boxes of a band are neighbours in the grid.
#pragma once
#include <algorithm>

#include "base/shape.h"

namespace megalith::cpu {

class BoxRows {
 public:
  BoxRows(const Shape& shape, const Shape& box) : shape_(shape), box_(box) {
    if (shape_.empty()) shape_ = box_ = {1};
    for (size_t d = 0; d < shape_.size(); ++d) grid_.push_back((shape_[d] + box_[d] - 1) / box_[d]);
  }

  i64 elements() const { return count(shape_); }
  i64 bands() const { return count(grid_) / std::max<i64>(1, width()); }
  i64 width() const { return grid_.back(); }  // boxes in a band
  i64 boxes() const { return count(grid_); }
  i64 columns() const { return box_.back(); }  // columns of a box
  i64 row_length() const { return shape_.back(); }

  // Calls f(offset) for each row of the band, in memory order.
  template <class F>
  void for_rows(i64 band, F&& f) const {
    const size_t dims = shape_.size() - 1;
    Shape begin(dims), end(dims);
    for (size_t d = dims; d-- > 0; band /= grid_[d]) {
      begin[d] = band % grid_[d] * box_[d];
      end[d] = std::min(shape_[d], begin[d] + box_[d]);
    }
    for (Shape at = begin;;) {
      i64 row = 0;
      for (size_t d = 0; d < dims; ++d) row = row * shape_[d] + at[d];
      f(row * row_length());
      size_t d = dims;
      while (d > 0 && ++at[d - 1] == end[d - 1]) at[d - 1] = begin[d - 1], --d;
      if (d == 0) return;
    }
  }

  // Calls f(box of the band, begin, end) with the range of columns of each box.
  template <class F>
  void for_columns(F&& f) const {
    for (i64 k = 0; k < width(); ++k) f(k, k * columns(), std::min(row_length(), (k + 1) * columns()));
  }

 private:
  Shape shape_, box_, grid_;
};

}  // namespace megalith::cpu
