// Reading tensors from an open checkpoint: any block, put together from whatever blocks were saved.
#include "base/check.h"
#include "ckpt/block_copy.h"
#include "ckpt/checkpoint.h"

namespace megalith {
const CheckpointTensor* Checkpoint::find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

const CheckpointTensor& Checkpoint::at(const std::string& name) const {
  const CheckpointTensor* t = find(name);
  check(t != nullptr, "[load] {} has no tensor {}", path_, name);
  return *t;
}

void Checkpoint::read(const std::string& name, std::span<std::byte> out) const {
  const CheckpointTensor& t = at(name);
  read_block(name, Shape(t.shape.size(), 0), t.shape, out);
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
  for (const TensorBlock& b : t.blocks) {
    const TensorFiles& file = files_.at(b.file);
    const TensorInfo& stored = file.at(b.key);
    const Shape from = row_major_strides(b.shape), to = row_major_strides(shape);
    copy_common({b.offset, b.shape, from}, file.raw(stored).data(), {offset, shape, to}, out.data(), element);
    file.release(stored);
  }
}

void Checkpoint::check_tensors(std::span<const NamedShape> expected,
                               const std::function<bool(const std::string& name)>& ignore) const {
  std::vector<NamedShape> found;
  for (const CheckpointTensor& t : tensors_)
    if (!ignore || !ignore(t.name)) found.push_back({t.name, t.shape});
  check_same_tensors("[load] " + path_, expected, found);
}

}  // namespace megalith
