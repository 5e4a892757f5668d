// Kernels of ShardAmax, CastShard and TurnCodes. They use those of Amax and Quantize.
#include "ops/shard_codes.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/quantize/member_scales.h"
#include "exec/cuda/kernels/quantize/quantize.h"

namespace megalith::cuda {

namespace {

const std::byte* element(const std::byte* x, DType dtype, i64 at) { return x + at * size_of(dtype); }

}  // namespace

// A stretch begins at the begin of a member or of a rank's part. So it begins at a multiple of 256 bytes.
Kernel prepare(const ShardAmax& op, const KernelContext& context) {
  struct Member {
    int bucket;
    i64 begin;
    AmaxLaunch launch;
  };
  std::vector<Member> members;
  for (const ShardMember& m : op.members) {
    const Type& part = context.ins[size_t(m.at)];
    const ShardStretch s = stretch_of(context.mesh, part, context.coord, m);
    members.push_back({m.at, s.begin * size_of(part.dtype), {part.dtype, s.n}});
  }
  return {0, [members](const Args& a) {
            for (size_t i = 0; i < members.size(); ++i)
              launch(members[i].launch, a.ins[size_t(members[i].bucket)] + members[i].begin, a.out<float>(0) + i,
                     a.stream);
          }};
}

Kernel prepare(const CastShard& op, const KernelContext& context) {
  const DType x = context.ins[0].dtype;
  const ScaleRuleOfBox rule{CodeKind(op.format), op.kept ? ScaleKind::kept : ScaleKind::quotient};
  std::vector<ShardStretch> of;
  for (const ShardMember& m : op.members) of.push_back(stretch_of(context.mesh, context.ins[0], context.coord, m));
  return {0, [op, of, rule, x](const Args& a) {
            std::vector<MemberPointers> all;
            for (size_t i = 0; i < of.size(); ++i) {
              const float* state = op.kept ? a.in<float>(int(2 + i)) + op.state_at : nullptr;
              float* amax = op.kept ? a.out<float>(int(1 + of.size() + i)) : nullptr;
              all.push_back({a.in<float>(1) + op.members[i].at, state, a.out<float>(int(1 + i)), amax});
              const CastPointers p{.x = element(a.ins[0], x, of[i].begin),
                                   .amax = all[i].seen,
                                   .state = state,
                                   .seen = nullptr,
                                   .codes = a.out<u8>(0) + of[i].begin,
                                   .codes_t = nullptr,
                                   .scale_inv = all[i].scale_inv,
                                   .counts = nullptr};
              launch(CastLaunch{x, rule, 1, of[i].n}, p, a.stream);
            }
            launch_member_scales(rule, all, a.stream);
          }};
}

Kernel prepare(const TurnCodes& op, const KernelContext& context) {
  const Shape shape = context.in_shape(0);
  TurnLaunch l;
  for (int d = 0; d < int(shape.size()); ++d)
    (d < op.kept ? l.layers : d < op.kept + op.split ? l.rows : l.columns) *= shape[size_t(d)];
  return {0, [l](const Args& a) { launch(l, a.in<u8>(0), a.out<u8>(0), a.stream); }};
}

}  // namespace megalith::cuda
