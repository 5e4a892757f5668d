#include "models/blocks/tokens_of_experts.h"

#include <algorithm>

namespace megalith {

static Order order_of(const Layout& l, Axis a) {
  for (const AxisList& dim : l.dims)
    for (const AxisUse& use : dim)
      if (use.axis == a) return use.order;
  return Order::block;
}

TokensOfExperts::TokensOfExperts(Builder& b, Value x) : b_(b) {
  constexpr AxisSet kExperts = {groups::expert, groups::expert_tensor};
  const Layout& l = b.type(x).layout;
  for (AxisSet dense : {groups::query_heads, groups::kv_heads, groups::context, groups::data}) {
    const AxisSet edp = dense & groups::expert_data;
    const Order order = order_of(l, *dense.begin());
    const bool cut = b.mesh().n(edp) > 1 && b.mesh().n(dense & kExperts) > 1;
    const bool whole = b.mesh().n(edp) == 1 || (cut && order != Order::block);
    const AxisSet axes = whole ? dense : dense & kExperts;
    parts_.push_back({axes, whole && cut ? edp : AxisSet{}, l.state(*axes.begin()), order});
  }
}

Value TokensOfExperts::gather(Value v) const {
  for (const Part& p : parts_) {
    v = b_.relayout(v, p.axes, kCopy);
    if (!p.cut.empty()) v = b_.relayout(v, p.cut, p.from);
  }
  return v;
}

Value TokensOfExperts::give_back(Value y) const {
  for (size_t i = parts_.size(); i-- > 0;) {
    const Part& p = parts_[i];
    const AxisSet edp = p.axes & groups::expert_data;  // atoms of one rank: a copy over them is the sum
    if (!edp.empty()) y = b_.relayout(y, edp, kPartial);
    y = b_.relayout(y, p.axes, p.from, p.order);
  }
  return y;
}

}  // namespace megalith
