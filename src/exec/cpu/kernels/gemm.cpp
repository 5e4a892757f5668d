// A product is a sequence of rounds, one for each block of the smaller operand. In a round, each thread packs a share
// of the block, which stays in the L2 cache. Then each thread takes panels of the other operand. It packs a panel,
// which fits in the L1 cache, and multiplies it by the block. Meanwhile it prefetches the next panel. Only the split of
// k affects rounding, and this split depends only on k.
#include "exec/cpu/kernels/gemm.h"

#include "base/threads.h"
#include "exec/cpu/kernels/gemm_run.h"

namespace megalith::cpu {

using gemm::parts_of, gemm::round_up;

namespace {

constexpr i64 kDeep = 768;                // most steps of k of a round
constexpr i64 kStep = 192;                // most steps of k of a piece
constexpr i64 kBlockBytes = 1536 * 1024;  // most bytes of the packed block
constexpr i64 kSumsBytes = 4 << 20;       // most bytes of partial sums
constexpr i64 kWorthAThread = 1 << 19;    // multiplications; they take as long as a few barriers of the threads

// The size of about equal parts of n: a multiple of `unit`, at most `most`.
i64 even_part(i64 n, i64 most, i64 unit) { return std::min(most, round_up(parts_of(n, parts_of(n, most)), unit)); }

}  // namespace

template <class P>
Gemm::Blocks Gemm::cut(const GemmSpec& s) {
  using S = gemm::sum_t<P>;
  const bool b_stays = 2 * s.n < s.m;  // a is read in longer runs, b multiplied in wider ones
  const gemm::Widths<P> stays(b_stays), moves(!b_stays);
  const i64 rows = b_stays ? s.n : s.m, others = b_stays ? s.m : s.n, depth = parts_of(s.k, gemm::kElements<P>);
  const i64 threads = std::min<i64>(num_threads(), 1 + s.m * s.n * s.k / kWorthAThread);
  const i64 k = even_part(depth, kDeep, 32), step = even_part(k, kStep, 32);
  const i64 most = std::max<i64>(1, kBlockBytes / i64(sizeof(P)) / k / stays.panel) * stays.panel;
  const i64 block = even_part(rows, most, stays.panel);
  const bool same = size_of(s.c.dtype) == i64(sizeof(S)), sums = k < depth && size_of(s.c.dtype) < i64(sizeof(S));
  const i64 few = std::max(moves.piece * threads, kSumsBytes / i64(sizeof(S)) / block / moves.piece * moves.piece);
  const i64 pieces = sums ? std::min(round_up(others, moves.piece), few) : others;
  return {b_stays, block, pieces, k, step, threads, !sums && (!same || s.n % gemm::Tile<P>::kLanes != 0), sums};
}

bool has_bf16_pairs() { return gemm::kWide && __builtin_cpu_supports("avx512bf16") != 0; }

// Calls f.operator()<P>() for the type P of a packed step.
template <class F>
auto Gemm::with_step(F&& f) const {
  if constexpr (gemm::kWide)
    if (packed_ == Packed::pairs) return f.template operator()<u32>();
  return packed_ == Packed::f64 ? f.template operator()<double>() : f.template operator()<float>();
}

Gemm::Gemm(const GemmSpec& spec, bool pairs) : spec_(spec) {
  check(spec.c.col == 1 && spec.k > 0, "gemm: k is {}, the result's column stride {}", spec.k, spec.c.col);
  const bool doubles = spec.a.dtype == DType::f64 || spec.b.dtype == DType::f64 || spec.c.dtype == DType::f64;
  pairs = pairs && spec.a.dtype == DType::bf16 && spec.b.dtype == DType::bf16 && has_bf16_pairs();
  packed_ = doubles ? Packed::f64 : pairs ? Packed::pairs : Packed::f32;
  blocks_ = with_step([&]<class P>() { return cut<P>(spec); });
}

i64 Gemm::workspace() const {
  return with_step([&]<class P>() { return Workspace<P>{blocks_}.bytes(); });
}

void Gemm::run(const std::byte* a, const std::byte* b, std::byte* c, bool add, std::byte* workspace) const {
  dispatch_float(spec_.c.dtype, [&]<class C>() {
    with_step([&]<class P>() {
      std::atomic<i64> next_task = 0;
      auto of = [&](i64 id) { return GemmRun<P, C>(*this, a, b, c, add, workspace, next_task, id); };
      const i64 rounds = of(0).rounds();
      for (i64 i = 0; i < rounds; ++i) {
        const gemm::Round round = of(0).round(i), next = of(0).round(std::min(i + 1, rounds - 1));
        next_task = blocks_.threads;
        run_parts(blocks_.threads, [&](i64 id) { of(id).pack_share(round); });
        run_parts(blocks_.threads, [&](i64 id) { of(id).work(round, i + 1 < rounds ? &next : nullptr); });
      }
    });
  });
}

}  // namespace megalith::cpu
