// Reading tensors from an open checkpoint: any block, put together from whatever blocks were saved.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ckpt/checkpoint.h"

namespace megalith {
namespace {

// Copies the part that two blocks of the same tensor share, row by row. Offsets are in the whole tensor.
class BlockCopy {
 public:
  BlockCopy(const Shape& from_offset, const Shape& from_shape, const Shape& to_offset, const Shape& to_shape) {
    const std::size_t rank = from_shape.size();
    i64 from_step = 1, to_step = 1;
    size_.resize(rank), from_step_.resize(rank), to_step_.resize(rank);
    for (std::size_t d = rank; d-- > 0;) {
      const i64 begin = std::max(from_offset[d], to_offset[d]);
      size_[d] = std::max<i64>(0, std::min(from_offset[d] + from_shape[d], to_offset[d] + to_shape[d]) - begin);
      from_step_[d] = from_step, to_step_[d] = to_step;
      from_start_ += (begin - from_offset[d]) * from_step;
      to_start_ += (begin - to_offset[d]) * to_step;
      from_step *= from_shape[d], to_step *= to_shape[d];
    }
  }
  void run(const std::byte* from, std::byte* to, i64 element) const {
    if (count(size_) > 0) copy(from + from_start_ * element, to + to_start_ * element, element, 0);
  }

 private:
  void copy(const std::byte* from, std::byte* to, i64 element, std::size_t d) const {
    if (d + 1 >= size_.size()) {
      std::memcpy(to, from, std::size_t((size_.empty() ? 1 : size_[d]) * element));
      return;
    }
    for (i64 i = 0; i < size_[d]; ++i)
      copy(from + i * from_step_[d] * element, to + i * to_step_[d] * element, element, d + 1);
  }

  Shape size_, from_step_, to_step_;
  i64 from_start_ = 0, to_start_ = 0;
};

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
    BlockCopy(b.offset, b.shape, offset, shape).run(file.raw(stored).data(), out.data(), element);
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
