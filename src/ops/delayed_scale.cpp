#include "ops/delayed_scale.h"

#include <algorithm>

#include "ops/update.h"

namespace megalith {

std::vector<Type> SharedAmax::infer(const InferArgs& a) const {
  check(move.transfer == Transfer::all_reduce_max && move.lane == 0, "[{}] moves by {}: want all_reduce_max, in line",
        name, name_of(move.transfer));
  const Type& state = a.ins.at(1);
  check(state.dtype == DType::f32 && at >= 0 && at < kTensorsOfLayer && local_type(a.mesh, state).elements() > at,
        "[{}] scale {} of {}", name, at, to_string(state));
  return move.infer({a.mesh, {a.ins[0]}, {false}});
}

std::vector<Type> CollectAmax::infer(const InferArgs& a) const {
  const Type& seen = a.ins.at(0);
  check(a.ins.size() == 1 + places.size() && seen.dtype == DType::f32 && seen.ndim() == 1,
        "{} places of {} amax values in {}", places.size(), a.ins.size() - 1, to_string(seen));
  for (size_t i = 0; i < places.size(); ++i) {
    const Type& amax = a.ins[i + 1];
    const bool one = amax.dtype == DType::f32 && local_type(a.mesh, amax).elements() == 1;
    check(one && places[i] >= 0 && places[i] < seen.dim(0), "amax {} to place {} of {}", to_string(amax), places[i],
          seen.dim(0));
  }
  return {seen};
}

std::vector<Type> DelayedScale::infer(const InferArgs& a) const {
  check(layers > 0 && i64(a.ins.size()) == layers + 2, "{} inputs for the states of {} layers", a.ins.size(), layers);
  const size_t n = size_t(layers);
  const Type &state = a.ins[0], &seen = a.ins[n];
  const bool fits = state.dtype == DType::f32 && state.ndim() == 2 && state.dim(0) > 1 &&
                    state.dim(1) == kTensorsOfLayer && seen.dtype == DType::f32 && seen.ndim() == 1 &&
                    layers * kTensorsOfLayer <= seen.dim(0) && a.ins[n + 1].elements() == step_scalar::kSize &&
                    std::ranges::all_of(a.ins.begin(), a.ins.begin() + layers, [&](auto& t) { return t == state; });
  check(fits, "the states {} of {} layers by {}", to_string(state), layers, to_string(seen));
  for (const Type& t : a.ins)
    check(a.mesh.used(t.layout.max).empty() && a.mesh.used(t.layout.partial).empty() &&
              std::ranges::all_of(t.layout.dims, [&](const AxisList& d) { return a.mesh.n(d.axes()) == 1; }),
          "the scales' state comes from {}, which differs between ranks", to_string(t));
  return {a.ins.begin(), a.ins.begin() + layers};
}

}  // namespace megalith
