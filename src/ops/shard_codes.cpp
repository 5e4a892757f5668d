#include "ops/shard_codes.h"

#include <algorithm>

#include "mesh/layout.h"

namespace megalith {

namespace {

// A rank's part of a bucket must be [t, n], split along n.
void check_part(const Type& part) {
  check(part.ndim() == 2 && (part.dtype == DType::bf16 || part.dtype == DType::f32), "{} is no part of a bucket",
        to_string(part));
}

}  // namespace

ShardStretch stretch_of(const Mesh& mesh, const Type& part, const Coord& coord, const ShardMember& member) {
  const Run mine = index_runs(mesh, part.shape, part.layout, coord, 1).at(0);
  const i64 begin = std::max(member.place, mine.start),
            end = std::min(member.place + member.elements, mine.start + mine.length);
  return begin < end ? ShardStretch{begin - mine.start, end - begin} : ShardStretch{};
}

std::vector<Type> ShardAmax::infer(const InferArgs& a) const {
  Type out{DType::f32, {i64(members.size())}, whole(1)};
  for (const Type& part : a.ins) {
    check_part(part);
    for (const AxisList& dim : part.layout.dims) out.layout.max.insert(dim.axes());
  }
  for (const ShardMember& m : members) {
    check(m.at >= 0 && m.at < int(a.ins.size()), "a member of bucket {} of {}", m.at, a.ins.size());
    check(m.place >= 0 && m.place + m.elements <= a.ins[size_t(m.at)].dim(1), "a member at {} of {} elements in {}",
          m.place, m.elements, to_string(a.ins[size_t(m.at)]));
  }
  return {out};
}

std::vector<Type> CastShard::infer(const InferArgs& a) const {
  check(a.ins.size() == first_scale() + leaves(), "{} inputs for {} members", a.ins.size(), members.size());
  check_part(a.ins[0]);
  const Type& amax = a.ins[1];
  check(amax.dtype == DType::f32 && amax.ndim() == 1 && a.mesh.used(amax.layout.max).empty(),
        "amax of members is {}: want one that all ranks know", to_string(amax));
  std::vector<Type> out = {{dtype_of_codes(format), a.ins[0].shape, a.ins[0].layout}};
  for (size_t i = 0; i < members.size(); ++i) {
    const ShardMember& m = members[i];
    check(m.at >= 0 && m.at < amax.dim(0) && m.place >= 0 && m.place + m.elements <= a.ins[0].dim(1),
          "member {} at {} of {} elements in {}", m.at, m.place, m.elements, to_string(a.ins[0]));
    if (kept) check(state_at < a.ins[2 + i].elements(), "scale {} of {}", state_at, to_string(a.ins[2 + i]));
  }
  for (size_t i = first_scale(); i < a.ins.size(); ++i) {
    const bool one = a.ins[i].dtype == DType::f32 && local_type(a.mesh, a.ins[i]).elements() == 1;
    check(one, "a member's number is {}", to_string(a.ins[i]));
    out.push_back(a.ins[i]);
  }
  return out;
}

std::vector<Type> TurnCodes::infer(const InferArgs& a) const {
  const Type& x = a.ins.at(0);
  check(size_of(x.dtype) == 1 && split > 0 && kept >= 0 && kept + split < x.ndim(),
        "codes of {}, transposed at dim {}: want one inside", to_string(x), kept + split);
  return {turned(x, {.split = split, .kept = kept})};
}

}  // namespace megalith
