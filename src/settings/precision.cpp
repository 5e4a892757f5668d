#include "settings/precision.h"

#include "models/gpt/gpt.h"

namespace megalith {

Precision precision_of(const Options& o) {
  Precision out = precision_of(o.model, o.train.bf16 ? DType::bf16 : DType::f32);
  if (o.parallel.grad_reduce_in_bf16) out.gradient_communication = DType::bf16;
  return out;
}

}  // namespace megalith
