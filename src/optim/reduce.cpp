#include "optim/reduce.h"

#include "ops/scale.h"
#include "ops/update.h"

namespace megalith {

namespace {

// Whether a gradient is rounded before it is sent: only if it is sent, and its dtype is wider.
bool narrows(Builder& b, const RankSum& s) {
  return b.mesh().n(s.axes) > 1 && size_of(s.sent) < size_of(b.type(s.terms).dtype);
}

Value begin(Builder& b, const RankSum& s, const Traffic& traffic) {
  const int lane = traffic.overlap_gradients ? kGradientLane : 0;
  if (s.axes.empty()) return s.terms;
  if (narrows(b, s))
    return b.begin_relayout(b.add1(Cast{b.type(s.terms).ndim(), s.sent}, {s.terms}), s.axes, s.to, lane);
  return s.to == kSame ? b.reduce_in_place(s.terms, s.axes, lane) : b.begin_relayout(s.terms, s.axes, s.to, lane);
}

Value in_terms_precision(Builder& b, const RankSum& s, Value v) {
  const DType dtype = b.type(s.terms).dtype;
  if (b.type(v).dtype == dtype) return v;
  return s.to == kSame ? b.add1(PutBack{}, {v, s.terms}) : b.add1(Cast{b.type(v).ndim(), dtype}, {v});
}

Value narrow_leaf(Builder& b, const RankSum& s) {
  const Type& t = b.type(s.terms);
  return b.leaf({s.name + ".narrow", {s.sent, t.shape, t.layout}, Role::gradient});
}

// The leaf for a sum: in place of its terms, unless the sum is a rank's part.
Value sum_leaf(Builder& b, const RankSum& s) {
  const bool narrow = narrows(b, s);
  const Type& t = b.type(s.terms);
  const Layout to = relayout_plan(b.mesh(), t.shape, t.layout, s.axes, s.to, Order::block).to;
  const Value sum = b.leaf({s.name + ".sum", {narrow ? s.sent : t.dtype, t.shape, to}, Role::gradient});
  if (s.to == kSame) b.graph().values[sum.id].bucket = {narrow ? narrow_leaf(b, s) : b.graph().find_leaf(s.name)};
  return sum;
}

}  // namespace

std::vector<RankSum> sums_of_each(Builder& b, const std::vector<Parameter>& parameters,
                                  const std::vector<Value>& gradients, const Precision& precision) {
  std::vector<RankSum> out;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (gradients[i])
      out.push_back({parameters[i].name + ".grad", gradients[i], b.type(gradients[i]).layout.partial, kSame,
                     precision.gradient_communication});
  return out;
}

std::vector<RankSum> sums_of_buckets(Builder& b, const std::vector<Bucket>& buckets,
                                     const std::vector<Value>& gradients, const Precision& precision) {
  std::vector<RankSum> out;
  for (const Bucket& bucket : buckets) {
    std::vector<Value> ins = {gradient_leaf(b, bucket)};
    for (size_t m : bucket.members)
      if (gradients[m]) ins.push_back(gradients[m]);
    out.push_back({b.graph().info(ins[0]).name, b.add1(JoinBucket{}, ins), bucket.reduced, split(bucket.cut_dim()),
                   precision.gradient_communication});
  }
  return out;
}

std::vector<Value> reduce(Builder& b, const std::vector<RankSum>& sums, const Traffic& traffic) {
  std::vector<Value> moved, out;
  for (const RankSum& s : sums) moved.push_back(begin(b, s, traffic));
  for (size_t i = 0; i < sums.size(); ++i) out.push_back(in_terms_precision(b, sums[i], b.wait(moved[i])));
  return out;
}

void begin_reduce(Builder& b, const std::vector<RankSum>& sums) {
  for (const RankSum& s : sums) {
    const bool alone = b.mesh().n(s.axes) == 1;
    if (alone && s.to == kSame) continue;  // the sum has the memory of its only term
    const Value terms = narrows(b, s) ? b.add1(PutBack{}, {s.terms, narrow_leaf(b, s)}) : s.terms;
    b.move_into(terms, s.axes, s.to, sum_leaf(b, s), alone ? 0 : kGradientLane);
  }
}

std::vector<Value> end_reduce(Builder& b, const std::vector<RankSum>& sums) {
  std::vector<Value> out;
  for (const RankSum& s : sums) {
    const Value sum = sum_leaf(b, s);
    out.push_back(in_terms_precision(b, s, b.mesh().n(s.axes) == 1 ? sum : b.add1(Wait{}, {sum})));
  }
  return out;
}

}  // namespace megalith
