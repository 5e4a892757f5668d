// Reads tensors from an open checkpoint: any block, assembled from the saved blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/read_error.h"
#include "ckpt/native/checkpoint.h"
#include "ckpt/native/checkpoint_layout.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

// A file may be truncated after it was opened, or be on unreadable sectors.
void read_chunk(const BlockFile& file, i64 position, std::span<std::byte> out, bool direct) {
  const Shape step = {1};
  try {
    if (direct)
      file.read(
          {.size = {i64(out.size())}, .position = position, .from = step, .out = out.data(), .to = step, .element = 1});
    else
      file.bytes().read(position, out);
  } catch (const DamagedFile& e) {
    throw DamagedCheckpoint(e.what());
  }
}

}  // namespace

const CheckpointTensor* Checkpoint::find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

const CheckpointTensor& Checkpoint::at(const std::string& name) const {
  const CheckpointTensor* t = find(name);
  check(t != nullptr, "[load] {} has no tensor {}", path_, name);
  return *t;
}

void Checkpoint::read_block(const std::string& name, const Shape& offset, const Shape& shape,
                            std::span<std::byte> out) const {
  const CheckpointTensor& t = at(name);
  const i64 element = size_of(t.dtype);
  bool inside = offset.size() == t.shape.size() && shape.size() == t.shape.size();
  for (std::size_t d = 0; inside && d < shape.size(); ++d)
    inside = offset[d] >= 0 && shape[d] >= 0 && offset[d] + shape[d] <= t.shape[d];
  check(inside, "[load] tensor {} has shape {}, not a block {} at {}", name, to_string(t.shape), to_string(shape),
        to_string(offset));
  check(i64(out.size()) == count(shape) * element, "[load] block {} of tensor {} has {} bytes, its destination {}",
        to_string(shape), name, count(shape) * element, out.size());
  i64 elements = 0;
  for (const TensorBlock& b : t.blocks) elements += read_common(t, b, offset, shape, out.data());
  if (elements == count(shape)) return;
  throw DamagedCheckpoint(fmt::format("[load] {} holds {} of {} elements of block {} at {} of tensor {}", path_,
                                      elements, count(shape), to_string(shape), to_string(offset), name));
}

void Checkpoint::read_range(const std::string& name, i64 begin, i64 n, std::byte* out) const {
  const CheckpointTensor& t = at(name);
  check(begin >= 0 && n >= 0 && begin <= count(t.shape) && n <= count(t.shape) - begin,
        "[load] tensor {} has shape {}, no elements {} to {}", name, to_string(t.shape), begin, begin + n);
  i64 elements = 0;
  for (const TensorBlock& b : t.blocks) {
    if (is_stretch(t.shape, b.shape)) {
      elements += read_stretch(t, b, begin, n, out);
      continue;
    }
    std::byte* to = out;
    for_boxes(t.shape, begin, n, [&](const Shape& offset, const Shape& shape) {
      elements += read_common(t, b, offset, shape, to);
      to += count(shape) * size_of(t.dtype);
    });
  }
  if (elements == n) return;
  throw DamagedCheckpoint(
      fmt::format("[load] {} holds {} of {} elements of tensor {} from {} on", path_, elements, n, name, begin));
}

i64 Checkpoint::cut_before(const std::string& name, i64 end) const {
  const CheckpointTensor& t = at(name);
  for (const TensorBlock& b : t.blocks) {
    if (!is_stretch(t.shape, b.shape)) continue;
    const i64 first = element_at(t.shape, b.offset), chunk = std::max<i64>(1, b.chunk_bytes / size_of(t.dtype));
    if (first <= end && end < first + count(b.shape)) return first + (end - first) / chunk * chunk;
  }
  return end;
}

// The chunks with elements `first` to `last` of a block. in_place(begin, n): where to read a full chunk of these
// elements; if nullptr, take(begin, n, bytes) gets it, and another rank may need the rest of it.
template <class InPlace, class Take>
void Checkpoint::read_chunks(const CheckpointTensor& t, const TensorBlock& b, i64 first, i64 last, InPlace&& in_place,
                             Take&& take) const {
  const i64 element = size_of(t.dtype), chunk = std::max<i64>(1, b.chunk_bytes / element);
  const File& file = *files_.at(b.file);
  const i64 position = file.tensors.at(b.key).offset, elements = count(b.shape);
  std::vector<std::byte> piece;
  for (i64 k = first / chunk; k <= last / chunk; ++k) {
    const i64 begin = k * chunk, n = std::min(chunk, elements - begin);
    const auto bytes = std::size_t(n * element);
    std::byte* const place = begin >= first && begin + n <= last + 1 ? in_place(begin, n) : nullptr;
    if (!place) piece.resize(bytes);
    const std::span<std::byte> at(place ? place : piece.data(), bytes);
    read_chunk(file.bytes, position + begin * element, at, place != nullptr);
    check_chunk(t, b, k, at);
    if (!place) take(begin, n, at.data());
  }
}

// The intersection of a stored block and a wanted one.
i64 Checkpoint::read_common(const CheckpointTensor& t, const TensorBlock& b, const Shape& offset, const Shape& shape,
                            std::byte* out) const {
  const i64 element = size_of(t.dtype);
  const Shape from = row_major_strides(b.shape), to = row_major_strides(shape);
  i64 first = 0, last = 0, place = 0;  // elements of the stored block; where its first would be in `out`
  i64 common = 1;
  bool rows = true;  // both have the same rows: all dimensions but the first agree
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const i64 begin = std::max(offset[d], b.offset[d]);
    const i64 end = std::min(offset[d] + shape[d], b.offset[d] + b.shape[d]);
    if (begin >= end) return 0;
    common *= end - begin;
    first += (begin - b.offset[d]) * from[d], last += (end - 1 - b.offset[d]) * from[d];
    place += (b.offset[d] - offset[d]) * to[d];
    rows = rows && (d == 0 || (offset[d] == b.offset[d] && shape[d] == b.shape[d]));
  }
  read_chunks(
      t, b, first, last, [&](i64 begin, i64) { return rows ? out + (place + begin) * element : nullptr; },
      [&](i64 begin, i64 n, const std::byte* bytes) {
        for_boxes(b.shape, begin, n, [&](const Shape& box_offset, const Shape& box) {
          Shape global(box.size());
          for (std::size_t d = 0; d < box.size(); ++d) global[d] = b.offset[d] + box_offset[d];
          const Shape strides = row_major_strides(box);
          copy_common({global, box, strides}, bytes, {offset, shape, to}, out, element);
          bytes += count(box) * element;
        });
      });
  return common;
}

// The same, where both are stretches of the tensor in row-major order: wanted are the elements from `begin` on.
i64 Checkpoint::read_stretch(const CheckpointTensor& t, const TensorBlock& b, i64 begin, i64 n, std::byte* out) const {
  const i64 element = size_of(t.dtype), stored = element_at(t.shape, b.offset);
  const i64 first = std::max(begin, stored) - stored, end = std::min(begin + n, stored + count(b.shape)) - stored;
  if (first >= end) return 0;
  const auto place = [&](i64 at) { return out + (stored + at - begin) * element; };
  read_chunks(
      t, b, first, end - 1, [&](i64 at, i64) { return place(at); },
      [&](i64 at, i64 elements, const std::byte* bytes) {
        const i64 from = std::max(at, first), to = std::min(at + elements, end);
        std::memcpy(place(from), bytes + (from - at) * element, std::size_t((to - from) * element));
      });
  return end - first;
}

void Checkpoint::check_chunk(const CheckpointTensor& t, const TensorBlock& b, i64 chunk,
                             std::span<const std::byte> bytes) const {
  if (xxh64(bytes) == b.checksums[std::size_t(chunk)]) return;
  throw DamagedCheckpoint(fmt::format("{}/{} is damaged: wrong checksum; tensor {}", path_, b.file, t.name));
}

}  // namespace megalith
