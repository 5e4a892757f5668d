#include "mesh/block_copy.h"

#include <algorithm>
#include <cstring>

namespace megalith {
namespace {

struct Rows {
  const Shape &size, &from_strides, &to_strides;
  i64 element;

  void copy(const std::byte* from, std::byte* to, std::size_t d) const {
    if (d == size.size()) return void(std::memcpy(to, from, std::size_t(element)));
    const bool last = d + 1 == size.size();
    if (last && from_strides[d] == 1 && to_strides[d] == 1)
      return void(std::memcpy(to, from, std::size_t(size[d] * element)));
    for (i64 i = 0; i < size[d]; ++i)
      copy(from + i * from_strides[d] * element, to + i * to_strides[d] * element, d + 1);
  }
};

}  // namespace

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

bool is_stretch(const Shape& whole, const Shape& box) {
  std::size_t d = 0;
  while (d < box.size() && box[d] == 1) ++d;
  for (++d; d < box.size(); ++d)
    if (box[d] != whole[d]) return false;
  return true;
}

i64 element_at(const Shape& whole, const Shape& offset) {
  i64 at = 0;
  for (std::size_t d = 0; d < whole.size(); ++d) at = at * whole[d] + offset[d];
  return at;
}

CommonPart common_part(const StridedBlock& from, const StridedBlock& to) {
  CommonPart c{.size = Shape(from.shape.size())};
  for (std::size_t d = 0; d < c.size.size(); ++d) {
    const i64 begin = std::max(from.offset[d], to.offset[d]);
    const i64 end = std::min(from.offset[d] + from.shape[d], to.offset[d] + to.shape[d]);
    c.size[d] = std::max<i64>(0, end - begin);
    c.from_start += (begin - from.offset[d]) * from.strides[d];
    c.to_start += (begin - to.offset[d]) * to.strides[d];
  }
  return c;
}

void copy_block(const Shape& size, const Shape& from_strides, const std::byte* from, const Shape& to_strides,
                std::byte* to, i64 element) {
  if (count(size) > 0) Rows{size, from_strides, to_strides, element}.copy(from, to, 0);
}

i64 copy_common(const StridedBlock& from, const std::byte* from_data, const StridedBlock& to, std::byte* to_data,
                i64 element) {
  const CommonPart c = common_part(from, to);
  if (count(c.size) == 0) return 0;
  copy_block(c.size, from.strides, from_data + c.from_start * element, to.strides, to_data + c.to_start * element,
             element);
  return count(c.size);
}

void for_boxes(const Shape& shape, i64 begin, i64 n,
               const std::function<void(const Shape& offset, const Shape& box)>& f) {
  const std::size_t rank = shape.size();
  if (rank == 0) return n > 0 ? f({}, {}) : void();
  const Shape strides = row_major_strides(shape);
  const i64 end = begin + n;
  Shape offset(rank), box(rank);
  while (begin < end) {
    // The outermost dimension along which complete slices remain; all inner coordinates are 0 there.
    std::size_t d = rank - 1;
    while (d > 0 && begin % strides[d - 1] == 0 && end - begin >= strides[d - 1]) --d;
    const i64 outer = d > 0 ? strides[d - 1] : end;  // the run stays inside one slice of the dimension above
    const i64 left = d > 0 ? std::min(end, begin / outer * outer + outer) - begin : end - begin;
    i64 rest = begin;
    for (std::size_t k = 0; k < rank; ++k) {
      offset[k] = rest / strides[k], rest %= strides[k];
      box[k] = k < d ? 1 : k == d ? left / strides[d] : shape[k];
    }
    f(offset, box);
    begin += box[d] * strides[d];
  }
}

void for_runs(const Shape& shape, const Shape& offset, const Shape& box, const std::function<void(i64, i64)>& f) {
  if (count(box) == 0) return;
  const Shape strides = row_major_strides(shape);
  std::size_t d = shape.size();  // dimensions from here on are whole
  i64 run = 1;
  while (d > 0 && (d == shape.size() || box[d] == shape[d])) run *= box[--d];
  Shape at(d, 0);
  for (;;) {
    i64 first = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) first += (offset[k] + (k < d ? at[k] : 0)) * strides[k];
    f(first, run);
    std::size_t k = d;
    while (k > 0 && ++at[k - 1] == box[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}

void for_strips(const Shape& shape, const Shape& offset, const Shape& box, const std::function<void(const Strip&)>& f) {
  Strip strip{0, 0, 0, 0};
  for_runs(shape, offset, box, [&](i64 begin, i64 run) {
    const i64 last = strip.begin + (strip.rows - 1) * strip.step;
    if (strip.rows == 1) strip.step = begin - strip.begin;
    if (strip.rows > 0 && begin - last == strip.step) return void(++strip.rows);
    if (strip.rows > 0) f(strip);
    strip = {begin, run, run, 1};
  });
  if (strip.rows > 0) f(strip);
}

}  // namespace megalith
