// What a model is to a step: blocks in a row, of which pieces are built, forward only, as graph. All else that a run
// needs of it (gradients, optimizer state, checkpoints, memory, flops) follows from what the building declares.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/precision.h"
#include "graph/builder.h"
#include "models/parameter.h"

namespace megalith {

// An array of a batch that the model reads: a leaf of the same name, with the piece's suffix, [s,b] of the whole batch,
// or [b] where it has one value a sequence.
struct DataInput {
  std::string name;
  bool required = true;  // false: read where the batch has it
};

// A run of blocks, [first, last), such as one that a pipeline stage holds.
struct ModelPiece {
  int first = 0, last = 0;
  std::string suffix = {};  // of its data leaves' names, where a rank has several pieces
};

// How it is built.
struct BuildMode {
  i64 batch = 1;             // sequences of the micro-batch over all data-parallel ranks
  Precision precision = {};  // of the parts that a model has
  bool dropout = true;       // off for evaluation
  u64 seed = 1234;           // of dropout
};

// A term of the loss: its mean over the global batch is the sum of `sum` over the sum of `weight`. The gradient is that
// of the first term's mean. Another term adds to it through `cotangent`: what the gradient of its `sum` starts from, in
// units of the first term's sum.
struct LossTerm {
  std::string name;      // "lm loss"
  Value sum, weight;     // [] each
  Value cotangent = {};  // [], of the dual type; none for the first, which starts from 1; others: no gradient
};

// A tensor that a model keeps from step to step and does not train, such as a counter or a running mean. Behind the
// backward of each training micro-batch `update` is added to it. Both are of one dtype (f32, bf16, f64 or i32) and one
// layout: what is a sum over ranks is reduced before. Each element starts as `tensor.initial` says. It enters no
// optimizer and no norm, is of the weights in a checkpoint, in its dtype, and a skipped step does not take it back. In
// a pipeline other micro-batches' forwards may stand between a forward that reads it and its update.
struct Untrained {
  Parameter tensor;
  Value update = {};  // none: it stays as it is
};

// What building a piece gives.
struct Built {
  std::vector<Parameter> parameters;
  std::vector<Untrained> untrained = {};
  Value input = {};                           // from the piece before: a leaf, "in" and the suffix
  Value output = {};                          // to the piece after
  std::vector<LossTerm> terms = {};           // of the piece that has the loss
  std::map<std::string, Value> outputs = {};  // what evaluation may keep: "logits"

  Value loss() const { return terms.at(0).sum; }
  Value tokens() const { return terms.at(0).weight; }
};

// Makes the parameter's leaf, and counts it among what is built.
inline Value add_parameter(Builder& b, Built& out, Parameter p) {
  p.value = b.leaf(leaf_of(
      p, [](const std::string& name) { return name; }, p.type, Role::parameter));
  out.parameters.push_back(p);
  return p.value;
}

constexpr bool can_be_untrained(DType t) {
  return t == DType::f32 || t == DType::bf16 || t == DType::f64 || t == DType::i32;
}

// Makes the leaf of a tensor that is not trained. Its update is set in `out.untrained`.
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
  // Adds a piece. Its parameters are leaves by their own names; data leaves have the piece's suffix.
  virtual Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const = 0;

  ModelPiece whole() const { return {0, blocks()}; }
  Built build_whole(Builder& b, const BuildMode& mode) const { return build(b, whole(), mode); }
};

}  // namespace megalith
