// A parameter, as a model declares it. The gradient buffer, the optimizer state and the checkpoint follow from it.
#pragma once
#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/draw.h"
#include "models/initial.h"

namespace megalith {

// The kind of a parameter, for an optimizer. embedding: the table of words; output: the weight of the logits. A tied
// weight is an embedding.
enum class ParameterKind { matrix, vector, embedding, positions, output };

struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::matrix;
  Type type = {};    // in compute precision, with its layout
  int row_dims = 0;  // for a matrix: number of its first dims that count as rows; 0: all but the last
  Initial initial = {};
  i64 true_rows = 0;                  // rows of dim 0 that exist; the padding after them stays 0 and is never saved
  Value value = {};                   // the leaf in the graph
  std::vector<Parameter> parts = {};  // the parameters that are packed in this one, in order
  std::vector<int> blocks = {};       // blocks of the model that read it, ascending, if separate pieces may hold it
  std::vector<int> stages = {};       // pipeline stages that hold it, if several do; its gradient is the sum of theirs
  bool is_begun = false;  // another piece of the rank writes its gradient first in each step, and this one adds to it

  bool tied() const { return !stages.empty(); }

  bool decays() const { return kind != ParameterKind::vector; }  // whether weight decay applies

  Shape true_shape() const {
    Shape s = type.shape;
    if (!s.empty()) s[0] = true_rows;
    return s;
  }
};

// The parameters that users know: each packed one is replaced by its parts.
std::vector<Parameter> unpacked(const std::vector<Parameter>& parameters);

// The leaf for a parameter's weight, gradient or optimizer state. `name` converts the parameter's name, and each packed
// one's, to the leaf's.
LeafSpec leaf_of(const Parameter& p, std::string (*name)(const std::string&), const Type& type, Role role);

// How the initial values are drawn.
Draw start_of(const Parameter& p, u64 seed);

// Writes this rank's block of the initial values, as f32.
void init_parameter(const Parameter& p, const Mesh& mesh, const Coord& coord, u64 seed, float* out);

}  // namespace megalith
