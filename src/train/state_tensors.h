// A model's state as a set of tensors that checkpoint writers read piece by piece.
#pragma once
#include <mutex>

#include "ckpt/tensor_reader.h"
#include "train/model_state.h"

namespace megalith {

class StateTensors final : public TensorReader {
 public:
  // The model must outlive this and stay as it is. Without `with_optimizer`: weights only.
  StateTensors(const ModelState& model, bool with_optimizer);

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override;

  const ModelState& model_;
  std::vector<const StateTensor*> state_;
  mutable std::mutex mutex_;
  mutable std::size_t copied_ = std::size_t(-1);  // which tensor `copy_` holds: one that the host can't see
  mutable std::vector<float> copy_;
};

}  // namespace megalith
