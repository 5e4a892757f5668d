#include "passes/tell_amax.h"

#include "ops/scale.h"

namespace megalith {

Value tell_amax(Builder& b, const std::string& output, Value seen) {
  b.set_phase(Phase::update), b.set_module("amax");
  const AxisSet axes = b.type(seen).layout.max;
  const Value total = axes.empty() ? seen : b.relayout(seen, axes, kSame);
  b.graph().outputs[output] = b.add1(Cast{b.type(total).ndim(), DType::f64}, {total});
  return total;
}

void tell_counts(Builder& b, const std::string& output, Value seen) {
  b.set_phase(Phase::update), b.set_module("amax");
  const AxisSet axes = b.type(seen).layout.partial;
  const Value total = axes.empty() ? seen : b.relayout(seen, axes, kSame);
  b.graph().outputs[output] = b.add1(Cast{b.type(total).ndim(), DType::f64}, {total});
}

}  // namespace megalith
