// Kernels of ShardAmax, CastShard and TurnCodes.
#include "ops/shard_codes.h"

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/code_transpose.h"
#include "exec/cpu/kernels/magnitude.h"
#include "quant/fp8_format.h"

namespace megalith::cpu {

namespace {

std::vector<ShardStretch> stretches(const std::vector<ShardMember>& members, const KernelContext& context,
                                    bool of_amax) {
  std::vector<ShardStretch> out;
  for (const ShardMember& m : members)
    out.push_back(stretch_of(context.mesh, context.ins[size_t(of_amax ? m.at : 0)], context.coord, m));
  return out;
}

struct MemberScale {
  float scale, scale_inv;
};

// state: a kept scale; 0: none.
MemberScale scale_of_member(float amax, float state, float largest) {
  if (quant::is_infinite(amax)) return {state > 0 ? state : 1, std::numeric_limits<float>::quiet_NaN()};
  const float scale = state > 0 ? state : quant::current_scale(amax, largest, {});
  return {scale, quant::inverse(scale)};
}

}  // namespace

Kernel prepare(const ShardAmax& op, const KernelContext& context) {
  const std::vector<ShardStretch> of = stretches(op.members, context, true);
  i64 parts = 0;
  for (const ShardStretch& s : of) parts = std::max(parts, sum_parts(s.n));
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    return {parts * i64(sizeof(u32)), [of, members = op.members](const Args& a) {
              for (size_t i = 0; i < of.size(); ++i)
                a.out<float>(0)[i] = of[i].n == 0 ? 0
                                                  : amax_of(a.in<X>(members[i].at) + of[i].begin, of[i].n,
                                                            reinterpret_cast<u32*>(a.workspace));
            }};
  });
}

Kernel prepare(const CastShard& op, const KernelContext& context) {
  const std::vector<ShardStretch> of = stretches(op.members, context, false);
  const quant::Fp8 format = op.format == CodeFormat::e5m2 ? quant::Fp8::e5m2 : quant::Fp8::e4m3;
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    return {0, [=](const Args& a) {
              for (size_t i = 0; i < of.size(); ++i) {
                const float amax = a.in<float>(1)[op.members[i].at];
                const float state = op.kept ? a.in<float>(int(2 + i))[op.state_at] : 0;
                const MemberScale s = scale_of_member(amax, state, quant::largest_of(format));
                *a.out<float>(int(1 + i)) = s.scale_inv;
                if (op.kept) *a.out<float>(int(1 + of.size() + i)) = amax;
                const X* x = a.in<X>(0) + of[i].begin;
                u8* codes = a.out<u8>(0) + of[i].begin;
                quant::with_format(format, [&]<class F>() {
                  parallel_blocks(of[i].n, [&](i64 b, i64 e) {
                    for (i64 k = b; k < e; ++k) codes[k] = F::encode(float(x[k]) * s.scale);
                  });
                });
              }
            }};
  });
}

Kernel prepare(const TurnCodes& op, const KernelContext& context) {
  const auto [layers, matrix] = layers_of(context.in_shape(0), op.kept);
  const auto [rows, columns] = matrix_of(matrix, op.split);
  return {0, [layers = layers, rows = rows, columns = columns](const Args& a) {
            for (i64 at = 0; at < layers * rows * columns; at += rows * columns)
              transpose_codes(a.in<u8>(0) + at, rows, columns, a.out<u8>(0) + at);
          }};
}

}  // namespace megalith::cpu
