#include "train/state_tensors.h"

#include <cstring>

namespace megalith {

StateTensors::StateTensors(const ModelState& model, bool with_optimizer)
    : TensorReader("the model in memory"), model_(model) {
  for (const StateTensor& t : model.tensors()) {
    if (!t.is_weight && !with_optimizer) continue;
    add({t.name, DType::f32, t.shape});
    state_.push_back(&t);
  }
}

void StateTensors::do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const {
  const StateTensor& t = *state_[tensor];
  const auto bytes = std::size_t(n) * sizeof(float);
  const void* seen = t.leaf->type.dtype == DType::f32 ? model_.host_view(t) : nullptr;
  if (seen != nullptr) return void(std::memcpy(out, static_cast<const float*>(seen) + begin, bytes));
  const std::lock_guard lock(mutex_);
  if (copied_ != tensor) copy_ = model_.read(t), copied_ = tensor;
  std::memcpy(out, copy_.data() + begin, bytes);
}

}  // namespace megalith
