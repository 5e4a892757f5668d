// Rounds over blocks of C, and within those over blocks of k. In a round all threads pack their share of A's and B's
// blocks, meet, and then each takes its share of the tiles. Blocks are sized so that packed panels stay in the
// second-level caches; only the cut of k affects rounding, and it depends on k alone.
#include "exec/cpu/kernels/gemm.h"

#include <numeric>

#include "base/threads.h"
#include "exec/cpu/kernels/gemm_tile.h"

namespace megalith::cpu {

namespace {

constexpr i64 kDeep = 768;                // k of a round, at most
constexpr i64 kBlockBytes = 2048 * 1024;  // of one thread's part of a packed block
constexpr i64 kTileRows = 384;            // rows of A that a thread goes through for each panel of B

i64 parts_of(i64 n, i64 part) { return (n + part - 1) / part; }
i64 round_up(i64 n, i64 unit) { return parts_of(n, unit) * unit; }
i64 aligned(i64 elements) { return round_up(elements, kVectorBytes); }

template <class S>
struct Packed {  // a block of an operand: panels of `width` rows
  DType type;
  const std::byte* x;
  i64 across, along;  // strides over rows and over k
  S* out;
};

// This thread's share of the panels of W rows.
template <class S, i64 W>
void pack_share(const Packed<S>& p, i64 rows, i64 k) {
  const i64 id = omp_get_thread_num(), threads = omp_get_num_threads(), panels = parts_of(rows, W);
  dispatch_float(p.type, [&]<class X>() {
    for (i64 i = panels * id / threads; i < panels * (id + 1) / threads; ++i)
      gemm::pack<S, X, W>(reinterpret_cast<const X*>(p.x) + i * W * p.across, p.across, p.along,
                          std::min(W, rows - i * W), k, p.out + i * W * k);
  });
}

// One round: packed panels of a block times packed panels of another.
template <class S, class C>
struct Round {
  const S *a, *b;
  i64 m, n, k;
  C* c;
  i64 row;
  bool add;

  // The tiles of row panels [i0, i1) and column panels [j0, j1).
  void tiles(i64 i0, i64 i1, i64 j0, i64 j1) const {
    using T = gemm::Tile<S>;
    for (i64 j = j0; j < j1; ++j)
      for (i64 i = i0; i < i1; ++i) {
        const i64 rows = std::min(T::kRows, m - i * T::kRows), cols = std::min(T::kCols, n - j * T::kCols);
        gemm::tile_of<S, C>(rows, a + i * T::kRows * k, b + j * T::kCols * k, k,
                            {c + i * T::kRows * row + j * T::kCols, row, cols, add});
      }
  }

  // This thread's share: the block is cut into a grid of parts, of which each thread takes a run.
  void share() const {
    using T = gemm::Tile<S>;
    const i64 id = omp_get_thread_num(), threads = omp_get_num_threads();
    const i64 mp = parts_of(m, T::kRows), np = parts_of(n, T::kCols);
    const i64 gm = parts_of(m, kTileRows), gn = std::min(np, threads / std::gcd(gm, threads));
    for (i64 t = gm * gn * id / threads; t < gm * gn * (id + 1) / threads; ++t)
      tiles(mp * (t % gm) / gm, mp * (t % gm + 1) / gm, np * (t / gm) / gn, np * (t / gm + 1) / gn);
  }
};

}  // namespace

// The whole product, run by every thread of a team.
template <class S, class C>
struct GemmRun {
  using T = gemm::Tile<S>;
  const GemmSpec& s;
  const Gemm::Blocks& of;
  const std::byte *a, *b;
  C* c;
  bool add;
  S *packed_a, *packed_b, *sums;
  i64 have_a = -1, have_b = -1;  // the place of what is packed

  GemmRun(const Gemm& g, const std::byte* a, const std::byte* b, std::byte* c, bool add, std::byte* workspace)
      : s(g.spec_), of(g.blocks_), a(a), b(b), c(reinterpret_cast<C*>(c)), add(add) {
    packed_a = reinterpret_cast<S*>(workspace);
    packed_b = packed_a + aligned(of.m * of.k);
    sums = packed_b + of.n * of.k;
  }

  void pack(i64 i, i64 j, i64 p, i64 m, i64 n, i64 k) {
    const i64 at_a = i * s.a.row + p * s.a.col, at_b = j * s.b.col + p * s.b.row;
    if (have_a != i * s.k + p)
      pack_share<S, T::kRows>({s.a.dtype, a + at_a * size_of(s.a.dtype), s.a.row, s.a.col, packed_a}, m, k);
    if (have_b != j * s.k + p)
      pack_share<S, T::kCols>({s.b.dtype, b + at_b * size_of(s.b.dtype), s.b.col, s.b.row, packed_b}, n, k);
    have_a = i * s.k + p, have_b = j * s.k + p;
  }

  void block(i64 i, i64 j, i64 m, i64 n) {
    C* to = c + i * s.c.row + j;
    for (i64 p = 0; p < s.k; p += of.k) {
      const i64 k = std::min(of.k, s.k - p);
      pack(i, j, p, m, n, k);
#pragma omp barrier
      if (of.sums)
        Round<S, S>{packed_a, packed_b, m, n, k, sums, of.n, p > 0}.share();
      else
        Round<S, C>{packed_a, packed_b, m, n, k, to, s.c.row, add || p > 0}.share();
#pragma omp barrier
    }
    if (of.sums) store(to, m, n);
  }

  void store(C* to, i64 m, i64 n) const {
    const i64 id = omp_get_thread_num(), threads = omp_get_num_threads();
    for (i64 r = m * id / threads; r < m * (id + 1) / threads; ++r) {
      C* row = to + r * s.c.row;
      const S* from = sums + r * of.n;
      if (add)
        map(n, kPlus, row, row, from);
      else
        map(n, kSame, row, from);
    }
#pragma omp barrier
  }

  void all() {
    for (i64 i = 0; i < s.m; i += of.m)
      for (i64 j = 0; j < s.n; j += of.n) block(i, j, std::min(of.m, s.m - i), std::min(of.n, s.n - j));
  }
};

template <class S>
Gemm::Blocks Gemm::cut(const GemmSpec& s) {
  using T = gemm::Tile<S>;
  const i64 k = parts_of(s.k, parts_of(s.k, kDeep)), across = num_threads() * kBlockBytes / i64(sizeof(S)) / k;
  auto limit = [&](i64 size, i64 unit) {
    return std::min(round_up(size, unit), std::max(unit * num_threads(), across / unit * unit));
  };
  return {limit(s.m, T::kRows), limit(s.n, T::kCols), k, k < s.k && size_of(s.c.dtype) < i64(sizeof(S))};
}

Gemm::Gemm(const GemmSpec& spec) : spec_(spec) {
  check(spec.c.col == 1 && spec.k > 0, "gemm: k is {}, the result's column stride {}", spec.k, spec.c.col);
  double_ = spec.a.dtype == DType::f64 || spec.b.dtype == DType::f64 || spec.c.dtype == DType::f64;
  blocks_ = double_ ? cut<double>(spec) : cut<float>(spec);
}

i64 Gemm::workspace() const {
  const i64 sums = blocks_.sums ? blocks_.m * blocks_.n : 0;
  return (aligned(blocks_.m * blocks_.k) + blocks_.n * blocks_.k + sums) * (double_ ? 8 : 4);
}

void Gemm::run(const std::byte* a, const std::byte* b, std::byte* c, bool add, std::byte* workspace) const {
  dispatch_float(spec_.c.dtype, [&]<class C>() {
    auto team = [&]<class S>() {
#pragma omp parallel
      GemmRun<S, C>(*this, a, b, c, add, workspace).all();
    };
    double_ ? team.template operator()<double>() : team.template operator()<float>();
  });
}

}  // namespace megalith::cpu
