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
  bool required = true;                                 // false: read if the batch has it
  std::function<Batch::Array(const Batch&)> make = {};  // makes it from a batch that lacks it
  std::string counts = {};                              // for an array like kStepTokens: the mask whose sums it has
};

// An array that is not in the data: the step computes it from training batches. [b] f32: the loss mask summed over each
// row of a micro-batch, averaged over the step's micro-batches. So its sum over all rows, times the number of
// micro-batches, is known before the first forward. It is the weight of the loss's first term. If a model has this
// input, or another mask's, a step reads all micro-batches before the first one runs.
inline constexpr const char* kStepTokens = "step_tokens";

// A range of blocks, [first, last), such as one that a pipeline stage holds.
struct ModelPiece {
  int first = 0, last = 0;
  std::string suffix = {};  // of names of data leaves, if a rank has several pieces

  bool holds(const std::vector<int>& blocks) const {  // whether it holds one of them
    return std::ranges::any_of(blocks, [this](int block) { return first <= block && block < last; });
  }
};

// The settings of a build.
struct BuildMode {
  i64 batch = 1;             // sequences of the micro-batch over all data-parallel ranks
  Precision precision = {};  // of the parts that a model has
  bool dropout = true;       // off for evaluation
  bool train = true;         // false: evaluation, so terms have no cotangents
  u64 seed = 1234;           // of dropout
  // Tallies for reports only, in models that have them.
  bool tally_experts = false;  // how many tokens each expert of each layer has
  bool tally_layers = false;   // losses of each layer's own
};

// Numbers that a step counts besides its loss. `value` is [] or [n], f32 or f64. It is summed over the step's
// micro-batches and over the axes where it is Partial. On all other axes it is Same or Copy. All ranks know the sums.
struct Tally {
  std::string name;
  Value value;
};
struct TallySpec {
  std::string name;
  i64 size = 1;  // count of numbers
};

// A term of the loss. Its mean over the global batch is the sum of `sum` over the sum of `weight`. The gradient of the
// loss is that of the first term's mean. Another term contributes through `cotangent`: the initial cotangent of its
// `sum`, in units of the first term's sum. Both sums of another term are reduced over ranks like a Tally.
struct LossTerm {
  std::string name;   // "lm loss"
  Value sum, weight;  // [] each
  // [], of the dual type; the first term has none and starts from 1; for others none means no gradient
  Value cotangent = {};
};

// A tensor that a model keeps from step to step and does not train: a counter, or a running mean. It is f32, bf16, f64
// or i32. Each element starts as `tensor.initial` says. It enters no optimizer and no norm. In a checkpoint it is saved
// with the weights, in its dtype. At most one of two things changes it:
//   update   of the tensor's type, is added to it after the backward of each training micro-batch. Sums over ranks are
//            reduced before. A skipped step does not take it back. In a pipeline forwards of other micro-batches may
//            run between a forward that reads the tensor and its update.
//   at_end   an op that makes its new value in place at the end of each step:
//            (tensor, total, scalars [4]) -> tensor. total, f32, has the numbers of the tally `follows`. scalars are
//            those of StepScalars (ops/update.h). If the step does not count, the op leaves the tensor unchanged.
struct Untrained {
  Parameter tensor;
  Value update = {};
  std::string follows = {};
  std::optional<AnyOp> at_end = {};
};

// The name of the leaf of value i that a piece receives ("in") or sends ("out"), without its suffix.
inline std::string message_name(const std::string& way, size_t i) {
  return i == 0 ? way : fmt::format("{} {}", way, i);
}

// The result of building a model piece.
struct Built {
  std::vector<Parameter> parameters;
  std::vector<Untrained> untrained = {};
  // Values from the previous piece, in its order, and values to the next one. The leaves of received ones are "in", "in
  // 1", .. with the suffix (message_name).
  std::vector<Value> received = {}, sent = {};
  std::vector<LossTerm> terms = {};  // in the last piece the first one is the loss
  std::vector<Tally> tallies = {};
  std::map<std::string, Value> outputs = {};  // what evaluation may keep: "logits", "layer0.choice"

  Value loss() const { return terms.at(0).sum; }
  Value tokens() const { return terms.at(0).weight; }
};

// Adds the parameter's leaf, and lists it once among the built parameters.
inline Value add_parameter(Builder& b, Built& out, Parameter p) {
  const bool again = bool(b.find_leaf(p.name));  // a parameter may be read several times
  p.value = b.leaf(leaf_of(
      p, [](const std::string& name) { return name; }, p.type, Role::parameter));
  if (!again || std::ranges::find(out.parameters, p.value, &Parameter::value) == out.parameters.end())
    out.parameters.push_back(p);
  return p.value;
}

constexpr bool can_be_untrained(DType t) {
  return t == DType::f32 || t == DType::bf16 || t == DType::f64 || t == DType::i32;
}

// Adds the leaf of an untrained tensor. `out.untrained` says what changes it.
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
  virtual int blocks() const = 0;  // at least 1
  virtual std::vector<DataInput> inputs() const = 0;
  virtual std::string describe(const ModelPiece& piece) const = 0;  // "embedding, layers 0 to 3"
  virtual std::vector<std::string> terms() const = 0;               // names of all terms that any piece may have
  virtual std::vector<TallySpec> tallies(const BuildMode&) const { return {}; }  // all that any piece may have
  // How many values a piece that ends before `block` sends to the piece that starts with it.
  virtual int messages(int block) const { return block > 0 && block < blocks() ? 1 : 0; }
  // Adds a model piece. Its parameters are leaves by their own names; data leaves have the piece's suffix.
  virtual Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const = 0;

  ModelPiece whole() const { return {0, blocks()}; }
  Built build_whole(Builder& b, const BuildMode& mode) const { return build(b, whole(), mode); }
};

}  // namespace megalith
