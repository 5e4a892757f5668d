#include "mesh/pieces.h"

#include <algorithm>

namespace megalith {

Block block_of(const Mesh& mesh, const Shape& shape, const Layout& layout, const Coord& coord) {
  Block out;
  for (int d = 0; d < int(shape.size()); ++d) out.push_back(index_runs(mesh, shape, layout, coord, d));
  return out;
}

namespace {

struct Stretch {  // of one dim: consecutive indices in both blocks, by local positions
  i64 from, to, length;
};

std::vector<Stretch> common_stretches(const std::vector<Run>& from, const std::vector<Run>& to) {
  std::vector<Stretch> out;
  i64 at_from = 0;
  for (const Run& f : from) {
    i64 at_to = 0;
    for (const Run& t : to) {
      const i64 start = std::max(f.start, t.start), end = std::min(f.start + f.length, t.start + t.length);
      if (start < end) {
        const Stretch s{at_from + start - f.start, at_to + start - t.start, end - start};
        Stretch* last = out.empty() ? nullptr : &out.back();
        if (last && last->from + last->length == s.from && last->to + last->length == s.to)
          last->length += s.length;
        else
          out.push_back(s);
      }
      at_to += t.length;
    }
    at_from += f.length;
  }
  return out;
}

i64 length(const std::vector<Run>& runs) {
  i64 n = 0;
  for (const Run& r : runs) n += r.length;
  return n;
}

std::vector<i64> dense_strides(const std::vector<i64>& sizes) {
  std::vector<i64> out(sizes.size(), 1);
  for (int d = int(sizes.size()) - 2; d >= 0; --d) out[d] = out[d + 1] * sizes[d + 1];
  return out;
}

// Neighbouring dims that are dense in both memories become one.
void merge_dims(Box& b) {
  Box m{b.from, b.to, {}, {}, {}};
  for (size_t d = 0; d < b.sizes.size(); ++d) {
    if (b.sizes[d] == 1 && b.sizes.size() > 1 && d + 1 < b.sizes.size()) continue;
    const i64 n = b.sizes[d];
    if (!m.sizes.empty() && m.from_strides.back() == n * b.from_strides[d] &&
        m.to_strides.back() == n * b.to_strides[d]) {
      m.sizes.back() *= n, m.from_strides.back() = b.from_strides[d], m.to_strides.back() = b.to_strides[d];
    } else {
      m.sizes.push_back(n), m.from_strides.push_back(b.from_strides[d]), m.to_strides.push_back(b.to_strides[d]);
    }
  }
  b = std::move(m);
}

}  // namespace

i64 Box::elements() const {
  i64 n = 1;
  for (i64 s : sizes) n *= s;
  return n;
}

std::vector<Box> common_boxes(const Block& from, const Block& to) {
  std::vector<i64> from_sizes, to_sizes;
  for (const auto& runs : from) from_sizes.push_back(length(runs));
  for (const auto& runs : to) to_sizes.push_back(length(runs));
  const std::vector<i64> from_strides = dense_strides(from_sizes), to_strides = dense_strides(to_sizes);
  std::vector<Box> out = {Box{}};
  for (size_t d = 0; d < from.size(); ++d) {
    std::vector<Box> longer;
    for (const Box& b : out)
      for (const Stretch& s : common_stretches(from[d], to[d])) {
        Box box = b;
        box.from += s.from * from_strides[d], box.to += s.to * to_strides[d];
        box.sizes.push_back(s.length), box.from_strides.push_back(from_strides[d]);
        box.to_strides.push_back(to_strides[d]);
        longer.push_back(std::move(box));
      }
    out = std::move(longer);
  }
  for (Box& b : out) {
    if (b.sizes.empty()) b.sizes = b.from_strides = b.to_strides = {1};  // a scalar
    merge_dims(b);
  }
  return out;
}

i64 elements(const std::vector<Box>& boxes) {
  i64 n = 0;
  for (const Box& b : boxes) n += b.elements();
  return n;
}

// One side of the boxes laid out as a message from `start` on: `place` and `strides` are that side's.
static std::vector<Box> packed(std::vector<Box> boxes, i64 start, i64 Box::*place, std::vector<i64> Box::*strides) {
  for (Box& b : boxes) {
    b.*place = start, start += b.elements();
    b.*strides = dense_strides(b.sizes);
    merge_dims(b);
  }
  return boxes;
}

std::vector<Box> packed_to(std::vector<Box> boxes, i64 start) {
  return packed(std::move(boxes), start, &Box::to, &Box::to_strides);
}

std::vector<Box> packed_from(std::vector<Box> boxes, i64 start) {
  return packed(std::move(boxes), start, &Box::from, &Box::from_strides);
}

namespace {

// One side of `packed` is the message: is the other the same piece of memory?
bool is_one_piece(const std::vector<Box>& packed) {
  return !packed.empty() && std::all_of(packed.begin(), packed.end(), [&](const Box& b) {
    return b.dense() && b.from - b.to == packed[0].from - packed[0].to;
  });
}

}  // namespace

bool is_message_from(const std::vector<Box>& boxes) { return is_one_piece(packed_to(boxes)); }
bool is_message_to(const std::vector<Box>& boxes) { return is_one_piece(packed_from(boxes)); }

}  // namespace megalith
