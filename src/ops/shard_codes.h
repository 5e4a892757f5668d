// Casts weights to codes where each rank has a part of them: in the optimizer's buckets (--fp8-param-gather;
// docs/fp8.md).
//   shard_amax   a part of a bucket.. -> amax [members] f32: the largest |value| of each member, as far as this rank
//                knows it. Max over ranks that have other parts. Infinite if a value is infinite or NaN.
//   cast_shard   a part of a bucket, amax [members], [state..], scale_inv.., [amax..] -> codes of the part, and in
//   place
//                scale_inv.., [amax..], one for each member of this bucket. The scale follows from amax, as in Quantize
//                with `quotient`. With `kept` the scale of the state is used if there is one, and the op also writes
//                the members' amax.
//   turn_codes   codes -> their transpose, as Quantize gives it; of experts' weights, with `kept` 1, each expert's
#pragma once
#include "ops/quantize.h"

namespace megalith {

// A parameter in a bucket: its range of elements in a rank's whole bucket.
struct ShardMember {
  int at = 0;  // shard_amax: index of the bucket among the inputs. cast_shard: index in amax
  i64 place = 0, elements = 0;
};

// A rank's part of a member: n elements, from element `begin` of the rank's part on.
struct ShardStretch {
  i64 begin = 0, n = 0;
};
ShardStretch stretch_of(const Mesh& mesh, const Type& part, const Coord& coord, const ShardMember& member);

struct ShardAmax {
  static constexpr std::string_view name = "shard_amax";
  std::vector<ShardMember> members;
  void fields(auto&& v) const { v("members", members.size()); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

struct CastShard {
  static constexpr std::string_view name = "cast_shard";
  CodeFormat format = CodeFormat::e4m3;
  bool kept = false;
  i64 state_at = 0;  // index of the scale in a state
  std::vector<ShardMember> members;

  void fields(auto&& v) const {
    v("format", name_of(format)), v("members", members.size());
    if (kept) v("kept", kept), v("state_at", state_at);
  }
  size_t first_scale() const { return 2 + (kept ? members.size() : 0); }  // index among the inputs
  size_t leaves() const { return members.size() * (kept ? 2 : 1); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins.first(1), outs.first(1))}; }
  std::vector<Alias> aliases() const {
    std::vector<Alias> out;
    for (size_t i = 0; i < leaves(); ++i) out.push_back({int(1 + i), int(first_scale() + i), true});
    return out;
  }
};

struct TurnCodes {
  static constexpr std::string_view name = "turn_codes";
  int split = 1, kept = 0;  // as in Turn
  void fields(auto&& v) const {
    v("split", i64(split));
    if (kept) v("kept", i64(kept));
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

}  // namespace megalith
