#include "ckpt/tensors/joined_tensors.h"

namespace megalith {

void JoinedTensors::join(std::shared_ptr<const TensorReader> part,
                         const std::function<bool(const std::string&)>& wanted) {
  for (std::size_t i = 0; i < part->tensors().size(); ++i) {
    if (wanted && !wanted(part->tensors()[i].name)) continue;
    add(part->tensors()[i]);
    places_.push_back({part.get(), i});
  }
  parts_.push_back(std::move(part));
}

i64 JoinedTensors::cut_before(std::size_t tensor, i64 end) const {
  return places_[tensor].part->cut_before(places_[tensor].tensor, end);
}

void JoinedTensors::do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const {
  places_[tensor].part->read_range(places_[tensor].tensor, begin, n, out);
}

void JoinedTensors::do_read_strip(std::size_t tensor, const Strip& strip, std::byte* out) const {
  places_[tensor].part->read_strip_as(places_[tensor].tensor, strip, tensors()[tensor].dtype, out);
}

void JoinedTensors::do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const {
  const DType type = tensors()[tensor].dtype;
  places_[tensor].part->read_box_as(places_[tensor].tensor, offset, shape, type,
                                    {out, std::size_t(count(shape) * size_of(type))});
}

}  // namespace megalith
