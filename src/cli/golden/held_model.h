// Our model on one rank, planned for training and evaluation, in an interpreter's memory.
#pragma once
#include <memory>

#include "base/batch.h"
#include "ckpt/tensors/mapped_tensors.h"
#include "models/config.h"
#include "step/feed.h"
#include "step/model_state.h"

namespace megalith {

struct HeldSpec {
  ModelConfig model;  // resolved
  OptimizerConfig optimizer;
  i64 batch = 1;  // sequences of a micro-batch
  Precision precision = {};
  bool training_outputs = false;  // training programs also give the model's outputs
};

class HeldModel {
 public:
  HeldModel(const Backend& backend, const HeldSpec& spec);

  ModelState& state() { return *state_; }
  const PlannedStep& step() const { return step_; }
  void run(const std::string& program, const Batch& batch, bool first);
  // Sets the number of Adam's step, from 1 on, and the optimizer's rates.
  void write_rates(i64 step);

  // From the program's last run.
  std::vector<double> scalars(const std::string& program, const std::string& output) const;
  const Type* find_output(const std::string& program, const std::string& name) const;    // nullptr if there is none
  std::vector<float> output(const std::string& program, const std::string& name) const;  // row-major
  std::vector<float> logits(const std::string& program, i64 vocab_size) const;           // [b,s,v]
  // Sums over the micro-batches so far: "loss_sum" and "token_sum". Then one number of the step's tally.
  double sum(const std::string& leaf) const;
  double tallied(const std::string& name) const;

  // Our parameters and other tensors of the state, as one tensor of another program's file.
  std::vector<float> gradient(const TensorMapping& mapping, size_t theirs, double scale) const;
  std::vector<float> weight(const TensorMapping& mapping, size_t theirs) const;
  std::vector<float> tensor(const std::string& ours) const;

 private:
  template <class F>
  static std::vector<float> packed(const TensorMapping& mapping, size_t theirs, F&& values_of);

  OptimizerConfig optimizer_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  std::unique_ptr<ModelState> state_;
};

}  // namespace megalith
