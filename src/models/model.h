// The interface of a model to a step: a sequence of blocks, built in pieces, forward only, as a graph. Everything
// else (gradients, optimizer state, checkpoints, memory, flops) is derived from what the build declares.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/batch.h"
#include "base/precision.h"
#include "graph/builder.h"
#include "models/parameter.h"

namespace megalith {

// An array of a batch that the model reads. Its leaf has the same name and the piece's suffix: [s,b] of the full batch,
// or [b] for one value per sequence.
struct DataInput {
  std::string name;
  bool required = true;                                 // false: read where the batch has it
  std::function<Batch::Array(const Batch&)> make = {};  // of a batch that lacks it
  std::string counts = {};                              // of an array as kStepTokens: the mask whose sums it has
};

// An array that is not in the data: the step computes it from training batches. [b] f32: for each row of a
// micro-batch the sum of its loss mask, averaged over the step's micro-batches. So its sum over all rows, times the
// number of micro-batches, is known before the first forward: it is the weight of the loss's first term. If a model
// has this input, or one for another mask, all micro-batches of a step are read before the first one runs.
inline constexpr const char* kStepTokens = "step_tokens";

// A range of blocks, [first, last), such as one that a pipeline stage holds.
struct ModelPiece {
  int first = 0, last = 0;
  std::string suffix = {};  // of its data leaves' names, where a rank has several pieces

  bool holds(const std::vector<int>& blocks) const {  // one of them
    return std::ranges::any_of(blocks, [this](int block) { return first <= block && block < last; });
  }
};

// How it is built.
struct BuildMode {
  i64 batch = 1;             // sequences of the micro-batch over all data-parallel ranks
  Precision precision = {};  // of the parts that a model has
  bool dropout = true;       // off for evaluation
  bool train = true;         // false: evaluation: terms have no cotangents
  u64 seed = 1234;           // of dropout
  // Tallies for reports only, of models that have them.
  bool tally_experts = false;  // how many tokens each expert of each layer has
  bool tally_layers = false;   // the values of each layer's own losses
};

// Numbers that a step counts besides its loss. `value`, [] or [n], f32 or f64, is summed over the step's
// micro-batches and over the axes where it is Partial; on all others it is Same or Copy. All ranks know the sums.
struct Tally {
  std::string name;
  Value value;
};
struct TallySpec {
  std::string name;
  i64 size = 1;  // numbers
};

// A term of the loss: its mean over the global batch is the sum of `sum` over the sum of `weight`. The gradient is
// that of the first term's mean. Another term contributes through `cotangent`: the initial cotangent of its `sum`, in
// units of the first term's sum. Both sums of another term are reduced over ranks like a Tally.
struct LossTerm {
  std::string name;      // "lm loss"
  Value sum, weight;     // [] each
  Value cotangent = {};  // [], of the dual type; none for the first, which starts from 1; others: no gradient
};

// A tensor that a model keeps from step to step and does not train, such as a counter or a running mean. It is f32,
// bf16, f64 or i32. Each element starts as `tensor.initial` says. It enters no optimizer and no norm, and is of the
// weights in a checkpoint, in its dtype. What changes it, if anything, is one of two:
//   update   of the tensor's type, is added to it behind the backward of each training micro-batch. What is a sum over
//            ranks is reduced before. A skipped step does not take it back. In a pipeline other micro-batches' forwards
//            may stand between a forward that reads it and its update.
//   at_end   an op, makes its new value in place at the end of each step:
//            (tensor, total, scalars [4]) -> tensor. total, f32, has the numbers of the tally `follows`; scalars are
//            StepScalars' (ops/update.h). Where those say that the step does not count, the op leaves the tensor as it
//            is.
struct Untrained {
  Parameter tensor;
  Value update = {};
  std::string follows = {};
  std::optional<AnyOp> at_end = {};
};

// The leaf of number i of the values that a piece receives ("in") or sends ("out"), without its suffix.
inline std::string message_name(const std::string& way, size_t i) {
  return i == 0 ? way : fmt::format("{} {}", way, i);
}

// The result of building a model piece.
struct Built {
  std::vector<Parameter> parameters;
  std::vector<Untrained> untrained = {};
  // From the previous piece, in its order: leaves "in", "in 1", .. with the suffix (message_name); and to the next
  // piece.
  std::vector<Value> received = {}, sent = {};
  std::vector<LossTerm> terms = {};  // the first of the last piece is the loss
  std::vector<Tally> tallies = {};
  std::map<std::string, Value> outputs = {};  // what evaluation may keep: "logits", "layer0.choice"

  Value loss() const { return terms.at(0).sum; }
  Value tokens() const { return terms.at(0).weight; }
};

// Makes the parameter's leaf, and counts it once among the built ones.
inline Value add_parameter(Builder& b, Built& out, Parameter p) {
  const bool again = bool(b.find_leaf(p.name));  // of a value that is used several times
  p.value = b.leaf(leaf_of(
      p, [](const std::string& name) { return name; }, p.type, Role::parameter));
  if (!again || std::ranges::find(out.parameters, p.value, &Parameter::value) == out.parameters.end())
    out.parameters.push_back(p);
  return p.value;
}

constexpr bool can_be_untrained(DType t) {
  return t == DType::f32 || t == DType::bf16 || t == DType::f64 || t == DType::i32;
}

// Makes the leaf of an untrained tensor. `out.untrained` says what changes it.
inline Value add_untrained(Builder& b, Built& out, Parameter p) {
  check(can_be_untrained(p.type.dtype), "{} is not trained and {}: want f32, bf16, f64 or i32", p.name,
        name_of(p.type.dtype));
  p.value = b.leaf({p.name, p.type, Role::cache});
  out.untrained.push_back({p});
  return p.value;
}

class Model {
 public:
  virtual ~Model() = default;
  virtual int blocks() const = 0;  // at the least 1
  virtual std::vector<DataInput> inputs() const = 0;
  virtual std::string describe(const ModelPiece& piece) const = 0;  // "embedding, layers 0 to 3"
  virtual std::vector<std::string> terms() const = 0;               // the names of all terms that any piece may have
  virtual std::vector<TallySpec> tallies(const BuildMode&) const { return {}; }  // all that any piece may have
  // How many values a piece that ends before `block` sends to the piece that starts with it.
  virtual int messages(int block) const { return block > 0 && block < blocks() ? 1 : 0; }
  // Adds a model piece. Its parameters are leaves by their own names; data leaves have the piece's suffix.
  virtual Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const = 0;

  ModelPiece whole() const { return {0, blocks()}; }
  Built build_whole(Builder& b, const BuildMode& mode) const { return build(b, whole(), mode); }
};

}  // namespace megalith
