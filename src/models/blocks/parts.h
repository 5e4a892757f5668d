// Building blocks of transformers: parameters and data as leaves, norms, dropout and biases, and the relayouts between
// the residual stream and the tensor-parallel modules.
#pragma once
#include <array>
#include <string>

#include "models/config.h"
#include "models/model.h"
#include "models/placement.h"
#include "ops/activate.h"
#include "ops/attention.h"
#include "ops/rope.h"
#include "ops/swiglu.h"

namespace megalith {

inline constexpr size_t kRouterLosses = 4;

// The sums of router losses over the layers of a model piece.
struct RouterSums {
  std::array<Value, kRouterLosses> sums{};  // by loss (blocks/router_losses.cpp); none if no layer has it
  i64 layers = 0;
};

struct Parts {
  Builder& b;
  const ModelConfig& config;
  const BuildMode& mode;
  const ParallelStyle& style;
  std::string suffix = {};                             // of names of data leaves
  i64 seq = 0;                                         // sequence length of the data
  bool position_ids = false, document_starts = false;  // see GptData
  i64 cache_length = 0;                                // 0: training or evaluation
  std::string site = {};                               // prefix of dropout keys, if one layer is used several times
  // Data that all layers read: sample numbers; the number of cached tokens; the number of tokens of each sequence.
  Value rows{}, length{}, lengths{};
  bool causal = true;       // whether attention is causal
  Value positions_table{};  // [g,r,k], for attention with relative positions
  RouterSums router{};
  Built out{};

  Parameter declare(const std::string& name, const Shape& dims, const Placement& placement, const Initial& initial,
                    ParameterKind kind = ParameterKind::matrix) const;
  Value add_parameter(Parameter p) { return megalith::add_parameter(b, out, std::move(p)); }
  Value matrix(const std::string& name, const Shape& dims, const Placement& placement, const Initial& initial);
  Value vector(const std::string& name, const Shape& dims, const Placement& placement = kOnStream, double value = 0);
  Value data(const std::string& name, DType dtype);           // [s,b]
  Value sequence_data(const std::string& name, DType dtype);  // [b]
  Value received(DType dtype);  // [s,b,h] in the stream's layout, sent by the previous stage
  Value received() { return received(mode.precision.residual); }
  // The weight of the loss's first term: its mean over the step's micro-batches (kStepTokens). [], the same on all
  // ranks.
  Value step_tokens();

  Value to_tensor_parallel(Value x);
  Value to_residual(Value y);

  Value cast(Value x, DType dtype);
  Value norm(const std::string& name, Value x);  // [s,b,h] in the stream's layout; the result is in compute precision
  // The scale of a norm of [..,n] in `dtype`. With --apply-layernorm-1p it is f32 at least, because 1 + w must not be
  // rounded.
  Value norm_weight(const std::string& name, i64 n, const Placement& placement, DType dtype);
  Value add_to_stream(Value x, Value y);            // x [s,b,h] of the stream, y [s,b,h]
  Value dropout(const std::string& site, Value x);  // [s,b,h]
  // y + the bias `name`, if it exists.
  Value biased(const std::string& name, const std::string& spec, Value y, const Shape& dims, bool has_bias,
               const Placement& placement = kOnStream);
};

// x rotated by its positions. `op` has the letters of the dims.
Value rope(Parts& parts, Rope op, Value x);

// Writes x [s,b,g,d] of new tokens to the leaf `name` -> the whole cache [t,b,g,d].
Value cached(Parts& parts, const std::string& name, Value x);

// The scale of scores in ordinary attention.
double attention_scale(const ModelConfig& config);
// `name`: of the layer's attention, and the key of its dropout. `scale`: of the scores.
AttentionSpec attention_spec(const Parts& parts, const std::string& name, double scale);
// q [s,b,g,r,d], k [s,b,g,d], v [s,b,g,e] -> o [s,b,g,r,e]. Over cp: keys and values are gathered or, with all-to-all,
// the sequence is gathered and the groups are split further. Generation reads caches of keys and values.
Value core_attention(Parts& parts, const std::string& name, double scale, Value q, Value k, Value v);

// o [s,b,g,r,e] -> [s,b,h], a sum that is still partial over tp.
Value attention_output(Parts& parts, const std::string& name, Value o);

// x [s,b,h] -> [s,b,h], a sum that is still partial over tp. `name`: prefix of the parameters' names.
Value attention_block(Parts& parts, const std::string& name, Value x);
// Queries from x [s,b,h], q [s,b,g,r,d]; keys and values from memory [t,c,h], k and v [t,c,g,d].
struct CrossHeads {
  Value q, k, v;
};
CrossHeads cross_heads(Parts& parts, const std::string& name, Value x, Value memory);
// Queries from x [s,b,h], keys and values from memory [t,b,h] -> [s,b,h], a sum that is still partial over tp.
Value cross_attention_block(Parts& parts, const std::string& name, Value x, Value memory);
// The same in two programs of a generation. The first writes the memory's keys and values to caches. The second lets
// new tokens x attend to them. `length`: of the memory.
void cache_memory(Parts& parts, const std::string& name, Value memory);
Value cached_cross_attention(Parts& parts, const std::string& name, Value x, i64 length);
// Attention with latents, for x in the residual stream's layout, before to_tensor_parallel().
Value latent_attention_block(Parts& parts, const std::string& name, Value x);
// `width`: inside the MLP, with biases if `has_bias`.
Value mlp_block(Parts& parts, const std::string& name, Value x, i64 width, bool has_bias);
// A mixture of experts: x [s,b,h] in the stream's layout -> y [s,b,h], in the same layout.
Value moe_block(Parts& parts, const std::string& name, Value x);

Act act_of(Activation a);    // of an MLP without a gate
Gate gate_of(Activation a);  // of an MLP with a gate

}  // namespace megalith
