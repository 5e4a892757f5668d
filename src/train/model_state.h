// A planned model in an interpreter's memory, seen as logical tensors: what starts it, loads it and saves it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "optim/update.h"
#include "train/step.h"

namespace megalith {

// One tensor of the model's state, as checkpoints name it. Rows of vocabulary padding lie behind the true ones and are
// not part of it.
struct StateTensor {
  std::string name;  // "decoder...weight", "optimizer.exp_avg.decoder...weight"
  Shape shape;       // true sizes
  const Parameter* parameter;
  const Leaf* leaf;  // where it lies, in accumulation precision; of a cut optimizer the gradient's, on its way
  bool is_weight;
  std::string cut;  // the kind of state, ".main", where it is cut over data-parallel ranks; else empty
};

class ModelState {
 public:
  ModelState(const PlannedStep& step, Interpreter& interpreter, const Coord& coord = {});

  using Fill = std::function<void(std::span<float>)>;

  void initialise(u64 seed);  // every parameter drawn by name and global index
  void finish();              // after the last write

  bool has(const std::string& name) const;
  bool is_stage() const { return step_.pipeline.has_value(); }          // a pipeline's: only part of the model is here
  const std::vector<StateTensor>& tensors() const { return tensors_; }  // weights first, then optimizer state
  // Writes a tensor's true values, which `fill` puts into the span it gets (or `values` are); padding rows become 0. Of
  // a weight also the copy in compute precision. The values are the whole tensor's; a rank keeps its block of them.
  // Memory beside the model's own: that of the tensor, with bf16 half of it on top.
  void write(const StateTensor& t, const Fill& fill);
  void write(const StateTensor& t, std::span<const float> values);
  // After steps were run and before the first read.
  void begin_reading() const { reading_.clear(); }
  // For one rank, which holds all of it.
  std::vector<float> read(const StateTensor& t) const;
  const void* host_view(const StateTensor& t) const { return interpreter_.host_view(*t.leaf); }

  // This rank's share of sums over the whole model: an element counts on the first of the ranks that hold it.
  double squares() const;          // of all weights
  i64 zeros_in_gradients() const;  // elements of the last step's gradients that are exactly 0

 private:
  template <class F>
  void with_values(const Leaf& leaf, F&& f) const;  // f(its local elements as f32)
  bool counts(const Leaf& leaf) const;  // this rank is the first of those of its stage that hold the same block
  // Of cut state on its way through gradients' memory: this rank has the value, others of the sum have zero.
  bool gives_values(const Leaf& gradient) const;
  bool counts_elsewhere(const Parameter& p) const;  // on the pipeline's first stage
  void begin_writing(const std::string& cut);
  void run(const std::string& program) const;
  i64 true_elements(const Leaf& leaf, i64 true_rows) const;

  const PlannedStep& step_;
  Interpreter& interpreter_;
  Coord coord_;
  std::vector<StateTensor> tensors_;
  std::string writing_;          // the kind of cut state that gradients' memory takes in
  mutable std::string reading_;  // or holds
};

}  // namespace megalith
