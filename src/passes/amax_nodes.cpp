#include "passes/amax_nodes.h"

namespace megalith {

Value AmaxNodes::own(Value x, const Shape& box, int at) {
  const auto [it, is_first] = own_.try_emplace(x);
  if (is_first) it->second = inserted_.before(at, Amax{box}, {x}).at(0);
  return it->second;
}

Value AmaxNodes::known(Value own, int at) {
  const AxisSet axes = g_.type(own).layout.max;
  if (axes.empty()) return own;
  const auto [it, is_first] = known_.try_emplace({own, {}});
  if (is_first) it->second = inserted_.before(at, inserted_.relayout(own, axes, kSame), {own}).at(0);
  return it->second;
}

Value AmaxNodes::shared(Value own, Value state, i64 t, int at) {
  const auto [it, is_first] = known_.try_emplace({own, state});
  if (is_first) {
    const Relayout move = inserted_.relayout(own, g_.type(own).layout.max, kSame);
    it->second = inserted_.before(at, SharedAmax{move, t}, {own, state}).at(0);
  }
  return it->second;
}

}  // namespace megalith
