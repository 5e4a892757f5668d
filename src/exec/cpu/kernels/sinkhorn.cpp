// Kernel of Sinkhorn. The number of tokens determines their split into chunks. Column sums add the tokens of a chunk in
// order, then the chunks in order.
#include "base/threads.h"
#include "exec/cpu/kernels/router_row.h"

namespace megalith::cpu {
namespace {

constexpr i64 kSinkhornChunk = 256;  // tokens

template <class A>
struct SinkhornRounds {
  i64 tokens, experts, chunks;
  const A* z;
  A *c, *d0, *d1, *sums;  // c [t,e]: e^z

  // Computes d0 from d1, then the column sums, then d1. Returns the mean change of d1.
  A round() const {
    run_parts(chunks, [&](i64 chunk) {
      A* sum = sums + chunk * experts;
      std::fill_n(sum, experts, A(0));
      for (i64 t = chunk * kSinkhornChunk; t < std::min(tokens, (chunk + 1) * kSinkhornChunk); ++t) {
        A along = 0;
        for (i64 e = 0; e < experts; ++e) along += d1[e] * c[t * experts + e];
        d0[t] = 1 / A(tokens) / (along + A(Sinkhorn::kEps));
        for (i64 e = 0; e < experts; ++e) sum[e] += d0[t] * c[t * experts + e];
      }
    });
    A change = 0;
    for (i64 e = 0; e < experts; ++e) {
      A sum = 0;
      for (i64 chunk = 0; chunk < chunks; ++chunk) sum += sums[chunk * experts + e];
      const A before = d1[e];
      d1[e] = 1 / A(experts) / (sum + A(Sinkhorn::kEps));
      change += std::abs(d1[e] - before);
    }
    return change / A(experts);
  }

  void run() const {
    parallel_for(tokens * experts, 4096, [&](i64 i) { c[i] = std::exp(z[i]); });
    std::fill_n(d1, experts, A(1));
    for (int i = 0; i < Sinkhorn::kMostRounds && !(round() <= A(Sinkhorn::kEnough)); ++i) continue;
    parallel_for(tokens, 64, [&](i64 t) {
      for (i64 e = 0; e < experts; ++e) c[t * experts + e] *= d1[e] * d0[t];
    });
  }
};

}  // namespace

Kernel prepare(const Sinkhorn& op, const KernelContext& context) {
  const Shape z = context.in_shape(0);
  return for_router(op.name, context.ins[0].dtype, [&]<class A>() -> Kernel {
    const i64 tokens = z[0] * z[1], experts = z[2], chunks = (tokens + kSinkhornChunk - 1) / kSinkhornChunk;
    return {(tokens + (chunks + 1) * experts) * i64(sizeof(A)), [=](const Args& a) {
              A *d0 = reinterpret_cast<A*>(a.workspace), *d1 = d0 + tokens;
              if (tokens > 0)
                SinkhornRounds<A>{tokens, experts, chunks, a.in<A>(0), a.out<A>(0), d0, d1, d1 + experts}.run();
            }};
  });
}

}  // namespace megalith::cpu
