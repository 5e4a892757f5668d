#include "models/blocks/parts.h"

#include "base/rng.h"
#include "ops/add.h"
#include "ops/dropout.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {

Parameter Parts::declare(const std::string& name, const Shape& dims, const Placement& placement, const Initial& initial,
                         ParameterKind kind) const {
  return {.name = name,
          .kind = kind,
          .type = {mode.precision.parameters, dims, layout_of(placement, int(dims.size()), style)},
          .initial = initial,
          .true_rows = dims[0]};
}

Value Parts::matrix(const std::string& name, const Shape& dims, const Placement& placement, const Initial& initial) {
  return add_parameter(declare(name, dims, placement, initial));
}

Value Parts::vector(const std::string& name, const Shape& dims, const Placement& placement, double value) {
  return add_parameter(declare(name, dims, placement, {.mean = value}, ParameterKind::vector));
}

Value Parts::data(const std::string& name, DType dtype) {
  if (cache_length)  // few new tokens, so cp has nothing to split
    return b.leaf({fmt::format("{}/{}", name, seq), {dtype, {seq, mode.batch}, {{{}, {{groups::data}}}, {}, {}, {}}}});
  return b.leaf({name + suffix,
                 {dtype, {seq, mode.batch}, {{{{groups::context, style.cp_order}}, {{groups::data}}}, {}, {}, {}}}});
}

Value Parts::sequence_data(const std::string& name, DType dtype) {
  return b.leaf({name + suffix, {dtype, {mode.batch}, {{{{groups::data}}}, {}, {}, {}}}});
}

Value Parts::received(DType dtype) {
  Layout l{{{{groups::context, style.cp_order}}, {{groups::data}}, {}}, {}, {}, {}};
  if (cache_length) l.dims[0] = {}, l.copy = groups::context;  // as the embedding of data()
  if (style.sequence_parallel) l.dims[0].add({groups::tensor});
  const Type type{dtype, {seq, mode.batch, config.hidden_size}, l};
  const std::string name = message_name("in", out.received.size()) + suffix;
  out.received.push_back(b.leaf({name, type, Role::input, true}));
  return out.received.back();
}

Value Parts::step_tokens() {
  const DType dtype = accum_of(mode.precision.activations);
  const Value sum = b.add1(Sum{"b->", dtype}, {sequence_data(kStepTokens, dtype)});
  return b.relayout(b.relayout(sum, groups::data, kCopy), groups::context, kCopy);
}

Value Parts::to_tensor_parallel(Value x) { return b.relayout(x, groups::tensor, kCopy); }
Value Parts::to_residual(Value y) { return b.relayout(y, groups::tensor, style.sequence_parallel ? split(0) : kSame); }

Value Parts::cast(Value x, DType dtype) {
  const Type type = b.type(x);
  return type.dtype == dtype ? x : b.add1(Cast{type.ndim(), dtype}, {x});
}

Value Parts::norm_weight(const std::string& name, i64 n, const Placement& placement, DType dtype) {
  const Value w = vector(name + ".weight", {n}, placement, config.apply_layernorm_1p ? 0 : 1);
  if (!config.apply_layernorm_1p) return cast(w, dtype);
  const Value wide = cast(w, accum_of(dtype));
  return add(b, "h,h->h", wide, b.add1(Ones{b.type(wide)}, {}));
}

// If the stream is f32, the norm computes in f32 too, and only its result is rounded.
Value Parts::norm(const std::string& name, Value x) {
  const DType dtype = b.type(x).dtype;
  const Value w = norm_weight(name, config.hidden_size, kOnStream, dtype);
  const bool rms = config.normalization == Normalization::rms_norm;
  const Value bias = rms ? Value{} : cast(vector(name + ".bias", {config.hidden_size}), b.type(w).dtype);
  const Origin origin = b.origin();
  b.set_origin({.module = origin.module, .layer = origin.layer, .stack = origin.stack, .norm = true});
  const Value y =
      rms ? rms_norm(b, "sbh", x, w, config.norm_epsilon) : layer_norm(b, "sbh", x, w, bias, config.norm_epsilon);
  b.set_origin(origin);
  return cast(y, mode.precision.activations);
}

Value Parts::add_to_stream(Value x, Value y) { return add(b, "sbh,sbh->sbh", x, cast(y, b.type(x).dtype)); }

Value Parts::dropout(const std::string& site, Value x) {
  if (!mode.dropout || config.hidden_dropout == 0) return x;
  return b.add1(Dropout{"sbh,b->sbh", config.hidden_dropout, mix(mode.seed, hash_name(this->site + site))}, {x, rows});
}

Value Parts::biased(const std::string& name, const std::string& spec, Value y, const Shape& dims, bool has_bias,
                    const Placement& placement) {
  return has_bias ? add(b, spec, y, vector(name + ".bias", dims, placement)) : y;
}

}  // namespace megalith
