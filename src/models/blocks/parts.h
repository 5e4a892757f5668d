// What the parts of a GPT are built of: parameters and data as leaves, norms, dropout and biases, and the two ways
// between the residual stream and the tensor-parallel parts.
#pragma once
#include <string>

#include "models/gpt.h"
#include "models/placement.h"

namespace megalith {

struct GptParts {
  Builder& b;
  const ModelConfig& config;
  const GptShape& shape;
  const ParallelStyle& style;
  GptPiece piece;
  i64 seq;                 // of the data
  i64 cache_length = 0;    // 0: training or evaluation
  Value rows{}, length{};  // the data of all layers: sample numbers; how many tokens the caches hold
  Gpt out{};

  Parameter declare(const std::string& name, const Shape& dims, const Placement& placement, const Initial& initial,
                    ParameterKind kind = ParameterKind::matrix) const;
  Value add_parameter(Parameter p);
  Value matrix(const std::string& name, const Shape& dims, const Placement& placement, const Initial& initial);
  Value vector(const std::string& name, const Shape& dims, const Placement& placement = kOnStream, double value = 0);
  Value data(const std::string& name, DType dtype);  // [s,b]

  Value enter(Value x);
  Value leave(Value y);

  DType stream_dtype() const;  // of the residual stream
  Value cast(Value x, DType dtype);
  Value norm(const std::string& name, Value x);     // [s,b,h]: of the stream, the result in compute precision
  Value add_to_stream(Value x, Value y);            // x [s,b,h] of the stream, y [s,b,h]
  Value dropout(const std::string& site, Value x);  // [s,b,h]
  // y + the bias `name`, where there is one.
  Value biased(const std::string& name, const std::string& spec, Value y, const Shape& dims, bool has_bias,
               const Placement& placement = kOnStream);
};

// x [s,b,h] -> [s,b,h], a sum still partial over tp.
Value gpt_attention(GptParts& parts, const std::string& name, Value x);
Value gpt_mlp(GptParts& parts, const std::string& name, Value x);

}  // namespace megalith
