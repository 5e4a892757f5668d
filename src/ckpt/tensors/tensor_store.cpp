#include "ckpt/tensors/tensor_store.h"

#include <algorithm>

#include "base/check.h"
#include "mesh/block_copy.h"

namespace megalith {

TensorStore::TensorStore(std::string where, bool past_cache)
    : TensorReader(std::move(where)), past_cache_(past_cache), stretches_(BlockFile::kStretch + BlockPool::kBlock) {}

std::size_t TensorStore::add_file(const std::string& path) {
  const auto [it, added] = file_index_.emplace(path, files_.size());
  if (added) files_.push_back(std::make_unique<BlockFile>(path, stretches_, past_cache_));
  return it->second;
}

void TensorStore::add_tensor(TensorSpec spec, std::vector<StoredBox> boxes) {
  check_boxes(spec, boxes);
  add(std::move(spec));
  boxes_.push_back(std::move(boxes));
}

void TensorStore::check_boxes(const TensorSpec& t, const std::vector<StoredBox>& boxes) const {
  for (const StoredBox& b : boxes) {
    bool fits = b.offset.size() == t.shape.size() && b.shape.size() == t.shape.size();
    i64 last = 0;  // element of the box, from its first
    for (std::size_t d = 0; fits && d < b.shape.size(); ++d) {
      i64 reach = 0;
      fits = b.offset[d] >= 0 && b.shape[d] >= 0 && b.shape[d] <= t.shape[d] && b.offset[d] <= t.shape[d] - b.shape[d];
      fits =
          fits && b.strides[d] >= 0 && !__builtin_mul_overflow(b.strides[d], std::max<i64>(b.shape[d] - 1, 0), &reach);
      fits = fits && !__builtin_add_overflow(last, reach, &last);
    }
    const i64 bytes = file(b.file).size(), element = size_of(t.dtype);
    fits = fits && b.position >= 0 && b.position <= bytes &&
           (count(b.shape) == 0 || last < (bytes - b.position) / element);
    check(fits, "[load] {}: a part {} at {} of tensor {} does not fit its shape {} or its file {}", where(),
          to_string(b.shape), to_string(b.offset), t.name, to_string(t.shape), file(b.file).path());
  }
  const i64 elements = elements_of(boxes);
  check(elements == count(t.shape), "[load] {}: the parts of tensor {} hold {} of {} elements", where(), t.name,
        elements, count(t.shape));
  // Equal boxes would let a gap pass.
  check(tiles(t.shape, boxes), "[load] {}: two parts of tensor {} overlap", where(), t.name);
}

void TensorStore::do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const {
  const i64 element = size_of(tensors()[tensor].dtype);
  for_boxes(tensors()[tensor].shape, begin, n, [&](const Shape& offset, const Shape& shape) {
    do_read_box(tensor, offset, shape, out);
    out += count(shape) * element;
  });
}

void TensorStore::do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const {
  const i64 element = size_of(tensors()[tensor].dtype);
  const Shape strides = row_major_strides(shape);
  i64 left = count(shape);
  for (const StoredBox& b : boxes_[tensor]) {
    if (left == 0) break;
    const CommonPart common = common_part({b.offset, b.shape, b.strides}, {offset, shape, strides});
    if (count(common.size) == 0) continue;
    files_[b.file]->read({.size = common.size,
                          .position = b.position + common.from_start * element,
                          .from = b.strides,
                          .out = out + common.to_start * element,
                          .to = strides,
                          .element = element,
                          .swapped = b.swapped});
    left -= count(common.size);
  }
}

// A strip of a tensor that is one box in its file is a block there.
void TensorStore::do_read_strip(std::size_t tensor, const Strip& s, std::byte* out) const {
  const StoredBox& whole = boxes_[tensor].front();
  if (boxes_[tensor].size() > 1 || whole.strides != row_major_strides(whole.shape))
    return TensorReader::do_read_strip(tensor, s, out);
  const i64 element = size_of(tensors()[tensor].dtype);
  files_[whole.file]->read({.size = {s.rows, s.run},
                            .position = whole.position + s.begin * element,
                            .from = {s.step, 1},
                            .out = out,
                            .to = {s.run, 1},
                            .element = element,
                            .swapped = whole.swapped});
}

}  // namespace megalith
