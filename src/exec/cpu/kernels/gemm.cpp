// Rounds over blocks of A. In a round all threads pack their share of A's block and meet. Then each takes columns of C, a
// panel's width at a time: it packs a piece of B, as long as fits the first-level cache, multiplies it with all rows of
// A's block, goes on with the next piece, and meanwhile has that piece's memory fetched. A's block stays in the
// second-level cache. Only the cut of k affects rounding, and it depends on k alone.
#include "exec/cpu/kernels/gemm.h"

#include <atomic>

#include "base/threads.h"
#include "exec/cpu/kernels/gemm_pack.h"
#include "exec/cpu/kernels/gemm_tile.h"

namespace megalith::cpu {

namespace {

constexpr i64 kDeep = 768;                // k of a round, at most
constexpr i64 kStep = 192;                // k of a piece of B, at most
constexpr i64 kBlockBytes = 1024 * 1024;  // of A's packed block
constexpr i64 kSumsBytes = 4 << 20;       // of partial sums

i64 parts_of(i64 n, i64 part) { return (n + part - 1) / part; }
i64 round_up(i64 n, i64 unit) { return parts_of(n, unit) * unit; }
i64 aligned(i64 elements) { return round_up(elements, kVectorBytes); }
// About equal parts of n, each `most` at most.
i64 even_part(i64 n, i64 most, i64 unit) { return std::min(most, round_up(parts_of(n, parts_of(n, most)), unit)); }

struct Round {
  i64 i, j, p;  // the place of a block of A and C
  i64 m, n, k;  // its size
};

}  // namespace

template <class S>
struct Gemm::Workspace {
  using T = gemm::Tile<S>;
  const Blocks& of;
  i64 block_a() const { return aligned(of.m * of.k); }
  i64 panel() const { return aligned(T::kCols * of.step); }
  i64 tile() const { return of.own_tile ? aligned(of.m * T::kCols) : 0; }
  i64 sums() const { return of.sums ? of.m * of.n : 0; }
  i64 bytes() const { return (block_a() + of.threads * (panel() + tile()) + sums()) * i64(sizeof(S)); }
};

// The whole product, run by every thread of a team.
template <class S, class C>
struct GemmRun {
  using T = gemm::Tile<S>;
  const GemmSpec& s;
  const Gemm::Blocks& of;
  const std::byte *a, *b;
  C* c;
  bool add;
  std::atomic<i64>& next_task;
  i64 id = omp_get_thread_num(), threads = omp_get_num_threads();
  S *packed_a = nullptr, *panel = nullptr, *own_tile = nullptr, *sums = nullptr;

  GemmRun(const Gemm& g, const std::byte* a, const std::byte* b, std::byte* c, bool add, std::byte* workspace,
          std::atomic<i64>& next_task)
      : s(g.spec_), of(g.blocks_), a(a), b(b), c(reinterpret_cast<C*>(c)), add(add), next_task(next_task) {
    const Gemm::Workspace<S> w{of};
    packed_a = reinterpret_cast<S*>(workspace);
    panel = packed_a + w.block_a() + id * (w.panel() + w.tile());
    own_tile = panel + w.panel();
    sums = packed_a + w.block_a() + of.threads * (w.panel() + w.tile());
  }

  i64 rounds() const { return parts_of(s.m, of.m) * parts_of(s.n, of.n) * parts_of(s.k, of.k); }
  Round round(i64 index) const {
    const i64 np = parts_of(s.k, of.k), nj = parts_of(s.n, of.n);
    const i64 i = index / np / nj * of.m, j = index / np % nj * of.n, p = index % np * of.k;
    return {i, j, p, std::min(of.m, s.m - i), std::min(of.n, s.n - j), std::min(of.k, s.k - p)};
  }

  // A block is divided into `panels` columns, and these into `chunks` of rows if the threads would lack work.
  struct Tasks {
    i64 panels, chunks, rows;
    i64 count() const { return panels * chunks; }
  };
  Tasks tasks(const Round& r) const {
    const i64 panels = parts_of(r.n, T::kCols), units = parts_of(r.m, T::kRows);
    const i64 rows = parts_of(units, std::min(units, parts_of(threads == 1 ? 1 : 3 * threads, panels))) * T::kRows;
    return {panels, parts_of(r.m, rows), rows};
  }

  gemm::Lines lines(const std::byte* x, const Matrix& of_x, i64 across, i64 along, i64 rows, i64 k) const {
    const i64 size = size_of(of_x.dtype);
    if (along == 1) return {x, k * size, across * size, rows};
    if (across == 1) return {x, rows * size, along * size, k};
    return {};
  }

  // This thread's share of A's block: for each piece of k, panels of rows.
  struct Share {
    const std::byte* x;
    i64 begin, rows;
  };
  Share share_of_a(const Round& r) const {
    const i64 units = parts_of(r.m, T::kRows), begin = units * id / threads * T::kRows;
    const i64 end = std::min(r.m, units * (id + 1) / threads * T::kRows);
    return {a + ((r.i + begin) * s.a.row + r.p * s.a.col) * size_of(s.a.dtype), begin, end - begin};
  }
  void pack_a(const Round& r) const {
    const Share share = share_of_a(r);
    for (i64 q = 0; q < r.k; q += of.step) {
      const i64 k = std::min(of.step, r.k - q);
      dispatch_float(s.a.dtype, [&]<class X>() {
        gemm::pack_panels<S, X, T::kRows>(reinterpret_cast<const X*>(share.x) + q * s.a.col, s.a.row, s.a.col,
                                          share.rows, k, packed_a + q * of.m + share.begin * k);
      });
    }
  }

  // A piece of B: columns [j, j + cols) of the round's, k from q.
  struct Piece {
    const std::byte* x;
    i64 cols, k;
  };
  Piece piece(const Round& r, i64 j, i64 q) const {
    return {b + ((r.j + j) * s.b.col + (r.p + q) * s.b.row) * size_of(s.b.dtype), std::min(T::kCols, r.n - j),
            std::min(of.step, r.k - q)};
  }
  gemm::Lines lines(const Piece& p) const { return lines(p.x, s.b, s.b.col, s.b.row, p.cols, p.k); }
  void pack_b(const Piece& p) const {
    dispatch_float(s.b.dtype, [&]<class X>() {
      gemm::pack_panels<S, X, T::kCols>(reinterpret_cast<const X*>(p.x), s.b.col, s.b.row, p.cols, p.k, panel);
    });
  }

  // Rows [i0, i1) of columns [j, j + kCols), all of the round's k. `after`: the lines of the next task's first piece.
  void multiply(const Round& r, i64 i0, i64 i1, i64 j, const gemm::Lines& after, gemm::Lines& later) const {
    const i64 cols = std::min(T::kCols, r.n - j), vectors = parts_of(cols, T::kLanes);
    C* to = c + (r.i + i0) * s.c.row + r.j + j;
    gemm::Target<S> target{own_tile, T::kCols, false};
    if (of.sums) target = {sums + i0 * of.n + j, of.n, r.p > 0};
    bool direct = false;
    if constexpr (std::is_same_v<S, C>)
      if (cols % T::kLanes == 0) direct = true, target = {to, s.c.row, add || r.p > 0};
    for (i64 q = 0; q < r.k; q += of.step) {
      const Piece now = piece(r, j, q);
      pack_b(now);
      gemm::Ahead ahead{q + of.step < r.k ? lines(piece(r, j, q + of.step)) : after, later};
      ahead.burst = parts_of(ahead.soon.count(), std::max<i64>(1, parts_of(i1 - i0, T::kRows) * (now.k / gemm::kGroup)));
      for (i64 i = i0; i < i1; i += T::kRows)
        gemm::tile_of<S>(std::min(T::kRows, i1 - i), vectors)(packed_a + q * of.m + i * now.k, panel, now.k,
                                                                  {target.c + (i - i0) * target.row, target.row,
                                                                   target.add || q > 0},
                                                                  ahead);
      later = ahead.later;
    }
    const bool last = r.p + r.k == s.k;
    if (direct || (of.sums && !last)) return;
    const bool plus = of.sums ? add : add || r.p > 0;
    for (i64 i = 0; i < i1 - i0; ++i) {
      C* row = to + i * s.c.row;
      const S* from = target.c + i * target.row;
      if (plus)
        map(cols, kPlus, row, row, from);
      else
        map(cols, kSame, row, from);
    }
  }

  void work(const Round& r, const Round* next) const {
    const Tasks t = tasks(r);
    gemm::Lines later;  // A's next block
    if (next) {
      const Share share = share_of_a(*next);
      later = lines(share.x, s.a, s.a.row, s.a.col, share.rows, next->k);
    }
    for (i64 task = id, then; task < t.count(); task = then) {
      then = next_task++;
      gemm::Lines after;
      if (then < t.count())
        after = lines(piece(r, then / t.chunks * T::kCols, 0));
      else if (next && id < tasks(*next).count())
        after = lines(piece(*next, id / tasks(*next).chunks * T::kCols, 0));
      const i64 i = task % t.chunks * t.rows;
      multiply(r, i, std::min(r.m, i + t.rows), task / t.chunks * T::kCols, after, later);
    }
  }

  void all() const {
    for (i64 i = 0; i < rounds(); ++i) {
      const Round r = round(i), next = round(i + 1 < rounds() ? i + 1 : i);
      if (id == 0) next_task = threads;
      pack_a(r);
#pragma omp barrier
      work(r, i + 1 < rounds() ? &next : nullptr);
#pragma omp barrier
    }
  }
};

template <class S>
Gemm::Blocks Gemm::cut(const GemmSpec& s) {
  using T = gemm::Tile<S>;
  const i64 k = even_part(s.k, kDeep, 32), step = even_part(k, kStep, 32), threads = num_threads();
  const i64 m = even_part(s.m, std::max<i64>(1, kBlockBytes / i64(sizeof(S)) / k / T::kRows) * T::kRows, T::kRows);
  const bool same = size_of(s.c.dtype) == i64(sizeof(S)), sums = k < s.k && size_of(s.c.dtype) < i64(sizeof(S));
  const i64 n = sums ? std::max(T::kCols * threads, kSumsBytes / i64(sizeof(S)) / m / T::kCols * T::kCols) : s.n;
  return {m, std::min(round_up(s.n, T::kCols), n), k, step, threads, !sums && (!same || s.n % T::kLanes != 0), sums};
}

Gemm::Gemm(const GemmSpec& spec) : spec_(spec) {
  check(spec.c.col == 1 && spec.k > 0, "gemm: k is {}, the result's column stride {}", spec.k, spec.c.col);
  double_ = spec.a.dtype == DType::f64 || spec.b.dtype == DType::f64 || spec.c.dtype == DType::f64;
  blocks_ = double_ ? cut<double>(spec) : cut<float>(spec);
}

i64 Gemm::workspace() const {
  return double_ ? Workspace<double>{blocks_}.bytes() : Workspace<float>{blocks_}.bytes();
}

void Gemm::run(const std::byte* a, const std::byte* b, std::byte* c, bool add, std::byte* workspace) const {
  dispatch_float(spec_.c.dtype, [&]<class C>() {
    auto team = [&]<class S>() {
      std::atomic<i64> next_task = 0;
#pragma omp parallel num_threads(int(blocks_.threads))
      GemmRun<S, C>(*this, a, b, c, add, workspace, next_task).all();
    };
    double_ ? team.template operator()<double>() : team.template operator()<float>();
  });
}

}  // namespace megalith::cpu
