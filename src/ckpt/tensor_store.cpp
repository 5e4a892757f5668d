#include "ckpt/tensor_store.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "ckpt/block_copy.h"

namespace megalith {
namespace {

constexpr i64 kShort = i64{64} << 10;  // bytes that cost as much to read as fewer
constexpr i64 kLong = i64{1} << 20;    // bytes that are worth a way of their own
constexpr i64 kStaged = i64{4} << 20;  // bytes read at once to pick elements out of
constexpr i64 kFar = 4;                // a gap is read over if it is not so many times as long as what it parts

void swap_elements(std::byte* data, i64 n, i64 element) {
  for (i64 i = 0; i < n; ++i) std::reverse(data + i * element, data + (i + 1) * element);
}

// Reads blocks of elements of one file: f(position, bytes) reads them.
struct BlockReader {
  const std::function<void(i64 position, std::span<std::byte> out)>& read;
  i64 element;
  bool swapped;

  // Elements at `position` of the file, `from` their steps there, `to` those in `out`. In one go if they lie there as
  // they do here; else by stretches, of which the wanted ones are picked; else slice by slice along the widest step.
  void read_block(const Shape& size, i64 position, const Shape& from, std::byte* out, const Shape& to) const {
    std::vector<std::size_t> dims;  // of more than one element, by rising steps in the file
    for (std::size_t d = 0; d < size.size(); ++d)
      if (size[d] > 1) dims.push_back(d);
    std::ranges::stable_sort(dims, {}, [&](std::size_t d) { return from[d]; });
    i64 span = 1, rows = 1;  // elements from the first to the last; of the widest dimension: what a stretch can hold
    bool fits = true, alike = true;
    for (const std::size_t d : dims) {
      const bool far = from[d] > kFar * std::max(span, kShort / element);
      alike = alike && from[d] == span && to[d] == span;
      rows = !fits || far ? 1 : from[d] == 0 ? size[d] : std::max<i64>(1, (kStaged / element - span) / from[d] + 1);
      fits = fits && rows >= size[d];
      span += (size[d] - 1) * from[d];
    }
    if (alike) {
      read_stretch(position, {out, std::size_t(span * element)});
    } else if (fits) {
      std::vector<std::byte> stretch(std::size_t(span * element));
      read_stretch(position, stretch);
      copy_block(size, from, stretch.data(), to, out, element);
    } else {
      const std::size_t d = dims.back();
      Shape part = size;
      for (i64 i = 0; i < size[d]; i += rows) {
        part[d] = std::min(rows, size[d] - i);
        read_block(part, position + i * from[d] * element, from, out + i * to[d] * element, to);
      }
    }
  }

  void read_stretch(i64 position, std::span<std::byte> out) const {
    read(position, out);
    if (swapped) swap_elements(out.data(), i64(out.size()) / element, element);
  }
};

}  // namespace

TensorStore::TensorStore(std::string where, bool past_cache)
    : TensorReader(std::move(where)),
      blocks_(past_cache ? std::make_unique<BlockPool>(kStaged + BlockPool::kBlock) : nullptr) {}

std::size_t TensorStore::add_file(const std::string& path) {
  const auto [it, added] = file_index_.emplace(path, files_.size());
  if (added) files_.push_back(std::make_unique<File>(path, blocks_.get()));
  return it->second;
}

TensorStore::File::File(const std::string& path, BlockPool* blocks) : cached(path) {
  if (blocks != nullptr) past_cache.emplace(path, blocks);
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
    const i64 bytes = file(b.file).size(), element = size_of(t.dtype);
    fits = fits && b.position >= 0 && b.position <= bytes &&
           (count(b.shape) == 0 || last < (bytes - b.position) / element);
    check(fits, "[load] {}: a part {} at {} of tensor {} does not fit its shape {} or its file {}", where(),
          to_string(b.shape), to_string(b.offset), t.name, to_string(t.shape), file(b.file).path());
    elements += count(b.shape);
  }
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
    const File& file = *files_[b.file];
    const std::function<void(i64, std::span<std::byte>)> read = [&](i64 position, std::span<std::byte> to) {
      const bool direct = file.past_cache && i64(to.size()) >= kLong;
      (direct ? *file.past_cache : file.cached).read(position, to);
    };
    BlockReader{read, element, b.swapped}.read_block(common.size, b.position + common.from_start * element, b.strides,
                                                     out + common.to_start * element, strides);
    left -= count(common.size);
  }
}

}  // namespace megalith
