#include "ops/delayed_scale.h"

#include <algorithm>

#include "ops/update.h"

namespace megalith {

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
  check(a.ins.size() == 3, "{} inputs, of which three are wanted", a.ins.size());
  const Type &state = a.ins[0], &seen = a.ins[1];
  const bool fits = state.dtype == DType::f32 && state.ndim() == 2 && state.dim(0) > 1 &&
                    state.dim(1) == kTensorsOfLayer && seen.dtype == DType::f32 && seen.ndim() == 1 &&
                    at + kTensorsOfLayer <= seen.dim(0) && a.ins[2].elements() == step_scalar::kSize;
  check(fits, "the state {} by {} from {} on", to_string(state), to_string(seen), at);
  for (const Type& t : a.ins)
    check(a.mesh.used(t.layout.max).empty() && a.mesh.used(t.layout.partial).empty() &&
              std::ranges::all_of(t.layout.dims, [&](const AxisList& d) { return a.mesh.n(d.axes()) == 1; }),
          "the state of scales is made of {}, which ranks do not have alike", to_string(t));
  return {state};
}

}  // namespace megalith
