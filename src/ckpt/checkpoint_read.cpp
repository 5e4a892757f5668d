// Reading tensors from an open checkpoint: any block, put together from whatever blocks were saved.
#include <fmt/format.h>

#include <algorithm>

#include "base/read_error.h"
#include "ckpt/block_copy.h"
#include "ckpt/checkpoint.h"
#include "ckpt/checkpoint_layout.h"

namespace megalith {
namespace {

// A file that was whole when it was opened may be cut short since, or lie where the disk can't be read.
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

// What a stored block and a wanted one share: the chunks of the file that hold parts of it, from the first to the last.
// A chunk that goes whole into one stretch of the destination is read there; of others another rank may want the rest.
i64 Checkpoint::read_common(const CheckpointTensor& t, const TensorBlock& b, const Shape& offset, const Shape& shape,
                            std::byte* out) const {
  const i64 element = size_of(t.dtype), chunk = std::max<i64>(1, b.chunk_bytes / element);
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
  const File& file = *files_.at(b.file);
  const i64 position = file.tensors.at(b.key).offset, elements = count(b.shape);
  std::vector<std::byte> piece;
  for (i64 k = first / chunk; k <= last / chunk; ++k) {
    const i64 begin = k * chunk, n = std::min(chunk, elements - begin);
    const auto bytes = std::size_t(n * element);
    const bool direct = rows && begin >= first && begin + n <= last + 1;
    if (!direct) piece.resize(bytes);
    std::byte* at = direct ? out + (place + begin) * element : piece.data();
    read_chunk(file.bytes, position + begin * element, {at, bytes}, direct);
    check_chunk(t, b, k, {at, bytes});
    if (direct) continue;
    for_boxes(b.shape, begin, n, [&](const Shape& box_offset, const Shape& box) {
      Shape global(box.size());
      for (std::size_t d = 0; d < box.size(); ++d) global[d] = b.offset[d] + box_offset[d];
      const Shape strides = row_major_strides(box);
      copy_common({global, box, strides}, at, {offset, shape, to}, out, element);
      at += count(box) * element;
    });
  }
  return common;
}

void Checkpoint::check_chunk(const CheckpointTensor& t, const TensorBlock& b, i64 chunk,
                             std::span<const std::byte> bytes) const {
  if (xxh64(bytes) == b.checksums[std::size_t(chunk)]) return;
  throw DamagedCheckpoint(fmt::format("{}/{} is damaged: wrong checksum; tensor {}", path_, b.file, t.name));
}

}  // namespace megalith
