#include "ckpt/tensor_store.h"

#include <algorithm>

#include "base/check.h"
#include "ckpt/block_copy.h"

namespace megalith {
namespace {

constexpr i64 kKeepMapped = i64{64} << 20;    // bytes mapped before pages are given back
constexpr i64 kMappedAtOnce = i64{64} << 10;  // by a read of whatever length

void swap_elements(std::byte* data, i64 n, i64 element) {
  for (i64 i = 0; i < n; ++i) std::reverse(data + i * element, data + (i + 1) * element);
}

}  // namespace

std::size_t TensorStore::add_file(const std::string& path) {
  const auto [it, added] = file_index_.emplace(path, files_.size());
  if (added) files_.push_back(std::make_unique<MappedFile>(path));
  return it->second;
}

void TensorStore::add_tensor(TensorSpec spec, std::vector<StoredBox> boxes) {
  check_boxes(spec, boxes);
  add(std::move(spec));
  boxes_.push_back(std::move(boxes));
}

void TensorStore::check_boxes(const TensorSpec& t, const std::vector<StoredBox>& boxes) const {
  i64 elements = 0;
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
    const i64 bytes = files_.at(b.file)->size(), element = size_of(t.dtype);
    fits = fits && b.position >= 0 && b.position <= bytes &&
           (count(b.shape) == 0 || last < (bytes - b.position) / element);
    check(fits, "[load] {}: a part {} at {} of tensor {} does not fit its shape {} or its file {}", where(),
          to_string(b.shape), to_string(b.offset), t.name, to_string(t.shape), files_.at(b.file)->path());
    elements += count(b.shape);
  }
  check(elements == count(t.shape), "[load] {}: the parts of tensor {} hold {} of {} elements", where(), t.name,
        elements, count(t.shape));
  // Equal boxes would let a gap pass.
  check(tiles(t.shape, boxes), "[load] {}: two parts of tensor {} overlap", where(), t.name);
}

void TensorStore::do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const {
  const TensorSpec& t = tensors()[tensor];
  const i64 element = size_of(t.dtype);
  for_boxes(t.shape, begin, n, [&](const Shape& offset, const Shape& shape) {
    const Shape strides = row_major_strides(shape);
    i64 left = count(shape);
    bool swapped = false;
    for (const StoredBox& b : boxes_[tensor]) {
      if (left == 0) break;
      const std::byte* from = std::as_bytes(files_[b.file]->bytes()).data() + b.position;
      left -= copy_common({b.offset, b.shape, b.strides}, from, {offset, shape, strides}, out, element);
      swapped = b.swapped;
    }
    if (swapped) swap_elements(out, count(shape), element);
    out += count(shape) * element;
  });
  const i64 mapped = std::max(n * element, kMappedAtOnce);
  if (unreleased_.fetch_add(mapped) + mapped < kKeepMapped) return;
  unreleased_ = 0;
  for (const auto& file : files_) file->release(0, file->size());
}

// Run by run: what lies between them is not touched, for the files are mapped.
void TensorStore::do_read_strip(std::size_t tensor, const Strip& s, std::byte* out) const {
  for (i64 row = 0; row < s.rows; ++row)
    do_read(tensor, s.begin + row * s.step, s.run, out + row * s.run * size_of(tensors()[tensor].dtype));
}

}  // namespace megalith
