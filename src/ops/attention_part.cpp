#include "ops/attention_part.h"

#include <algorithm>
#include <map>

namespace megalith {

namespace {

constexpr AxisSet kRing = groups::context;

bool is_ring(const AxisUse& use) { return kRing.has(use.axis); }

// Infers by the rule of the whole attention, with the ring's axis taken out of s and t.
std::vector<Type> infer_part(const LayoutRule& rule, InferArgs a, const std::vector<DType>& dtypes) {
  const auto [names, results] = split_spec(rule.spec);
  check(names.size() == a.ins.size(), "{}: got {} inputs", rule.spec, a.ins.size());
  std::map<char, AxisList> rings;  // axes that split s and t, the ring included
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t d = 0; d < std::min(names[i].size(), a.ins[i].layout.dims.size()); ++d) {
      if (names[i][d] != 's' && names[i][d] != 't') continue;
      AxisList& dim = a.ins[i].layout.dims[d];
      const AxisList& known = rings.emplace(names[i][d], dim).first->second;
      check(dim == known, "{}: {} is split differently in two inputs: {} and {}", rule.spec, names[i][d],
            to_string(Layout{{known}, {}, {}, {}}), to_string(Layout{{dim}, {}, {}, {}}));
      std::erase_if(dim, is_ring);
    }
  check(std::any_of(rings['s'].begin(), rings['s'].end(), is_ring) ==
            std::any_of(rings['t'].begin(), rings['t'].end(), is_ring),
        "{}: queries and keys are not both split over {}", rule.spec, to_string(kRing));
  std::vector<Type> out = infer_by_rule(rule, a, dtypes);
  for (size_t k = 0; k < out.size(); ++k)
    for (size_t d = 0; d < results[k].size(); ++d)
      if (const auto ring = rings.find(results[k][d]); ring != rings.end()) out[k].layout.dims[d] = ring->second;
  return out;
}

// The parts share the window.
AttentionSpec shared(AttentionSpec at, int parts) {
  if (at.window > 0) at.window = std::max<i64>(1, at.window / parts);
  return at;
}

}  // namespace

std::vector<Type> AttentionPart::infer(const InferArgs& a) const {
  const DType dtype = a.ins.at(0).dtype, wide = accum_of(dtype);
  check(at.causal && !at.lengths && !at.buckets,
        "a part of an attention that is not causal, or has lengths or relative positions");
  LayoutRule rule = Attention{at}.rule();
  if (continues) rule.spec.insert(rule.spec.find("->"), ",sbgre,sbgr");
  std::vector<Type> out = infer_part(rule, a, {last ? dtype : wide, wide});
  for (size_t i = a.ins.size() - (continues ? 2 : 0); i < a.ins.size(); ++i)
    check(a.ins[i].dtype == wide, "o and lse of the keys before are {}, not {}", name_of(a.ins[i].dtype),
          name_of(wide));
  return out;
}

Cost AttentionPart::cost(Types ins, Types outs) const { return Attention{shared(at, parts)}.cost(ins, outs); }

std::vector<Alias> AttentionPart::aliases() const {
  if (!continues) return {};
  const int o = at.starts ? 5 : 4;
  return {{0, o}, {1, o + 1}};
}

std::vector<Type> AttentionPartGrad::infer(const InferArgs& a) const {
  const DType wide = accum_of(a.ins.at(0).dtype);
  return infer_part(AttentionGrad{at}.rule(), a, {wide, wide, wide});
}

Cost AttentionPartGrad::cost(Types ins, Types outs) const { return AttentionGrad{shared(at, parts)}.cost(ins, outs); }

}  // namespace megalith
