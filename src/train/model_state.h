// A planned model in an interpreter's memory, seen as logical tensors: what starts it, loads it and saves it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "optim/update.h"
#include "train/step.h"

namespace megalith {

// One tensor of the model's state, as checkpoints name it. Rows of vocabulary padding lie behind the true ones and are not part of it.
struct StateTensor {
  std::string name;         // "decoder...weight", "optimizer.exp_avg.decoder...weight"
  Shape shape;              // true sizes
  const Parameter* parameter;
  const Leaf* leaf;         // where it lies, in accumulation precision
  bool is_weight;
};

class ModelState {
 public:
  ModelState(const PlannedStep& step, Interpreter& interpreter);

  void initialise(u64 seed);  // every parameter drawn by name and global index

  const std::vector<StateTensor>& tensors() const { return tensors_; }  // weights first, then optimizer state
  // Writes a tensor's true values; padding rows become 0. Of a weight also the copy in compute precision.
  void write(const StateTensor& t, std::span<const float> values);
  std::vector<float> read(const StateTensor& t) const;
  const void* host_view(const StateTensor& t) const { return interpreter_.host_view(*t.leaf); }

 private:
  const PlannedStep& step_;
  Interpreter& interpreter_;
  std::vector<StateTensor> tensors_;
};

}  // namespace megalith
