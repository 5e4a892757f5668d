// Products of linear layers read fp8 or fp4 codes instead of values (docs/fp8.md). Models do not know about it: the
// pass finds the layers by their parameters' names, after the backward is derived and before any fusion. For each layer
// y = x w^T it rewrites y, dx = dy w and dw = dy^T x.
#pragma once
#include <string>
#include <vector>

#include "graph/builder.h"
#include "passes/pass.h"
#include "quant/delayed.h"

namespace megalith {

struct QuantizeConfig {
  enum class Format { none, hybrid, e4m3, e5m2 };  // hybrid: e4m3, and e5m2 of gradients; e5m2 alone is refused
  enum class Recipe { delayed, tensorwise, blockwise, mxfp8, custom };
  enum class Fp4Format { none, e2m1 };
  enum class Fp4Recipe { nvfp4, custom };
  enum class AmaxAlgorithm { most_recent, max };
  Format format = Format::none;
  Recipe recipe = Recipe::delayed;
  // Of delayed: a scale leaves room for values 2^margin times the history's amax.
  i64 margin = 0, amax_history_len = 1;
  AmaxAlgorithm amax_algorithm = AmaxAlgorithm::most_recent;
  Fp4Format fp4_format = Fp4Format::none;
  Fp4Recipe fp4_recipe = Fp4Recipe::nvfp4;
  bool weight_gradients = true;  // false: dw is a product of values
  bool ends_in_bf16 = false;     // this many of the first and the last layers do not use fp8
  i64 layers_at_start = 1, layers_at_end = 1;
  enum class Head { none, gradients, all };
  Head head = Head::none;     // which of the three products with the vocabulary also read codes
  bool gather_codes = false;  // of a cut optimizer: ranks gather weights as codes (passes/gather_codes.h)

  bool on() const { return format != Format::none || fp4_format != Fp4Format::none; }
  bool is_fp4() const { return fp4_format != Fp4Format::none; }
  bool is_delayed() const { return format != Format::none && recipe == Recipe::delayed; }
  bool operator==(const QuantizeConfig&) const = default;
};
std::string_view name_of_recipe(const QuantizeConfig& config);  // "tensorwise", "nvfp4"

// Inputs of the pass besides the graph.
struct QuantizeSpec {
  QuantizeConfig config;
  i64 num_layers = 0;       // of the model
  u64 seed = 0;             // of stochastic rounding
  std::string suffix = {};  // of the piece's data leaves
  bool counts = false;      // counts the values that casts of training lose
};

// Counts of the values that a step's casts lose (ops/cast_counts.h), for each linear layer's x, w and dy.
struct CastCounts {
  std::vector<std::string> names;  // names of the layers' weights
  Value seen;                      // [3 x layers, 3], Partial over the stage; {}: nothing is counted
  std::string seen_name;           // of its leaf
  Type seen_type;
};

// State of delayed scaling (ops/delayed_scale.h): for each linear layer, kept between steps next to its weight. Also
// the amax values of the step's micro-batches.
struct ScaleStates {
  std::vector<std::string> names;  // of the layers' leaves
  Type type;                       // of each
  Value seen;                      // [3 x layers], Max; {} without a backward
  std::string seen_name;           // of its leaf
  Type seen_type;
};

struct QuantizeReport {
  i64 layers = 0, products = 0;     // layers and products that read codes
  std::vector<std::string> others;  // names of the weights of other linear layers
  ScaleStates states;               // empty: the recipe has no states
  CastCounts counts;
  QuantizeReport& operator+=(const QuantizeReport& o);  // the counts
};

// Whether a parameter of this name is a linear layer's weight: not of the embedding, the head, a router or a gate.
bool is_linear_weight(const std::string& parameter);
// Whether it is the head's weight, or the embedding's table, which may also be the head's.
bool is_head_weight(const std::string& parameter);

// Error if a layer's sizes are no multiples of the format's block, or if ranks split a block of values.
QuantizeReport quantize(Graph& g, const QuantizeSpec& spec);

// The largest amax of a step's micro-batches, over all ranks of the stage, in a leaf.
Type seen_type(const Mesh& mesh, size_t layers);

// Type of the leaf with the counts of a step's micro-batches on one stage.
Type counts_type(const Mesh& mesh, size_t layers);

// The end of a step with delayed scaling: the states of a piece move on by what its micro-batches saw on all ranks of
// the stage. seen: in b's graph. scalars: of StepScalars.
void update_scales(Builder& b, const QuantizeConfig& config, const ScaleStates& states, Value seen, Value scalars);

}  // namespace megalith
