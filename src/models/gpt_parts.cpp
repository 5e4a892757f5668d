#include "models/gpt_parts.h"

#include <cmath>

#include "base/rng.h"
#include "models/xavier.h"
#include "ops/add.h"
#include "ops/dropout.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "ops/scale.h"

namespace megalith {

Parameter GptParts::declare(const std::string& name, const Shape& dims, double std, double mean) const {
  const bool vector = name.ends_with(".bias") || name.find("layernorm") != std::string::npos;
  const bool vocabulary = name.ends_with("word_embeddings.weight") || name.ends_with("output_layer.weight");
  const Type type{shape.dtype, dims, gpt_layout(name, int(dims.size()), config, style)};
  Parameter p{name, type, std, mean, !vector, vocabulary ? config.vocab_size : dims[0], {}};
  if (const auto xavier = xavier_std(name, config)) p.std = *xavier, p.uniform = true;
  return p;
}

Value GptParts::add_parameter(Parameter p) {
  p.value = b.leaf(leaf_of(
      p, [](const std::string& name) { return name; }, p.type, Role::parameter));
  out.parameters.push_back(p);
  return p.value;
}

Value GptParts::param(const std::string& name, const Shape& dims, double std, double mean) {
  return add_parameter(declare(name, dims, std, mean));
}

double GptParts::embedding_std() const {
  return config.embedding_init_method_std > 0 ? config.embedding_init_method_std : config.init_method_std;
}

double GptParts::output_std() const { return config.init_method_std / std::sqrt(2.0 * double(config.num_layers)); }

Value GptParts::data(const std::string& name, DType dtype) {
  if (cache_length)  // a few new tokens: cp has nothing to split
    return b.leaf({fmt::format("{}/{}", name, seq), {dtype, {seq, shape.batch}, {{{}, {{Axis::dp}}}, {}, {}, {}}}});
  return b.leaf(
      {name + piece.suffix, {dtype, {seq, shape.batch}, {{{{Axis::cp, style.cp_order}}, {{Axis::dp}}}, {}, {}, {}}}});
}

Value GptParts::enter(Value x) { return b.relayout(x, tensor_parallel_axes(), kCopy); }
Value GptParts::leave(Value y) {
  return b.relayout(y, tensor_parallel_axes(), style.sequence_parallel ? split(0) : kSame);
}

DType GptParts::stream_dtype() const { return config.fp32_residual_connection ? accum_of(shape.dtype) : shape.dtype; }

Value GptParts::cast(Value x, DType dtype) {
  const Type type = b.type(x);
  return type.dtype == dtype ? x : b.add1(Cast{type.ndim(), dtype}, {x});
}

// Of a stream in f32 the norm is too: its result alone is rounded.
Value GptParts::norm(const std::string& name, Value x) {
  const DType dtype = b.type(x).dtype;
  const Value w = cast(param(name + ".weight", {config.hidden_size}, 0, 1), dtype);
  if (config.normalization == Normalization::rms_norm)
    return cast(rms_norm(b, "sbh", x, w, config.norm_epsilon), shape.dtype);
  const Value bias = cast(param(name + ".bias", {config.hidden_size}, 0), dtype);
  return cast(layer_norm(b, "sbh", x, w, bias, config.norm_epsilon), shape.dtype);
}

Value GptParts::add_to_stream(Value x, Value y) { return add(b, "sbh,sbh->sbh", x, cast(y, b.type(x).dtype)); }

Value GptParts::dropout(const std::string& site, Value x) {
  if (!shape.dropout || config.hidden_dropout == 0) return x;
  return b.add1(Dropout{"sbh,b->sbh", config.hidden_dropout, mix(shape.seed, hash_name(site))}, {x, rows});
}

Value GptParts::biased(const std::string& name, const std::string& spec, Value y, const Shape& dims, bool has_bias) {
  return has_bias ? add(b, spec, y, param(name + ".bias", dims, 0)) : y;
}

}  // namespace megalith
