// How one thread works on a round of a product (gemm.cpp). It packs its share of the block that stays, and takes tasks:
// pieces of the other operand.
#pragma once
#include <atomic>

#include "exec/cpu/kernels/gemm.h"
#include "exec/cpu/kernels/gemm_pack.h"

namespace megalith::cpu {

namespace gemm {

inline i64 parts_of(i64 n, i64 part) { return (n + part - 1) / part; }
inline i64 round_up(i64 n, i64 unit) { return parts_of(n, unit) * unit; }

// The widths of packed panels and of a piece.
template <class P>
struct Widths {
  using T = Tile<P>;
  i64 panel, piece;
  explicit Widths(bool b) : panel(b ? T::kCols : T::kRows), piece(b ? T::kCols : 4 * T::kRows) {}
};

struct Round {
  i64 i, j, p;  // begin in the block's operand, in the other operand, and in k
  i64 m, n, k;  // sizes from i, j and p; of k in steps
};

}  // namespace gemm

template <class P>
struct Gemm::Workspace {
  static_assert(sizeof(P) == sizeof(gemm::sum_t<P>));
  const Blocks& of;
  static i64 aligned(i64 elements) { return gemm::round_up(elements, kVectorBytes); }
  i64 piece_width() const { return gemm::Widths<P>(!of.b_stays).piece; }
  i64 block() const { return aligned(of.block * of.k); }
  i64 piece() const { return aligned(piece_width() * of.step); }
  i64 tile() const { return of.own_tile ? aligned(of.block * piece_width()) : 0; }
  i64 sums() const { return of.sums ? of.block * of.pieces : 0; }
  i64 bytes() const { return (block() + of.threads * (piece() + tile()) + sums()) * i64(sizeof(P)); }
};

// One thread's part of a product.
template <class P, class C>
struct GemmRun {
  using T = gemm::Tile<P>;
  using S = gemm::sum_t<P>;
  static constexpr i64 kElements = gemm::kElements<P>;

  // One operand by rows: the rows of a, or the columns of b.
  struct Operand {
    const std::byte* x;
    DType dtype;
    i64 rows, across, along, deep;  // strides over rows and over k; elements of k
    gemm::Widths<P> width;

    i64 elements(i64 p, i64 k) const { return std::min(k * kElements, deep - p * kElements); }  // of k steps from p
    const std::byte* at(i64 row, i64 p) const { return x + (row * across + p * kElements * along) * size_of(dtype); }
    gemm::Lines lines(i64 row, i64 p, i64 rows, i64 k) const {
      const i64 size = size_of(dtype);
      if (along == 1) return {at(row, p), elements(p, k) * size, across * size, rows};
      if (across == 1) return {at(row, p), rows * size, along * size, elements(p, k)};
      return {};
    }
    void pack(i64 row, i64 p, i64 rows, i64 k, P* out) const {
      dispatch_float(dtype, [&]<class X>() {
        const X* from = reinterpret_cast<const X*>(at(row, p));
        if constexpr (gemm::kPairs<P> && !std::is_same_v<X, bf16>)
          fail("gemm: pairs of {}", name_of(dtype));
        else if (width.panel == T::kRows)
          gemm::pack_panels<P, X, T::kRows>(from, across, along, rows, elements(p, k), out);
        else
          gemm::pack_panels<P, X, T::kCols>(from, across, along, rows, elements(p, k), out);
      });
    }
  };

  const Gemm::Blocks& of;
  const bool b_stays = of.b_stays;
  const Operand stays, moves;
  const i64 depth;
  C* const c;
  const i64 c_row;
  const bool add;
  std::atomic<i64>& next_task;
  const i64 id, threads;
  P *block = nullptr, *packed = nullptr;
  S *own_tile = nullptr, *sums = nullptr;

  static Operand operand(const GemmSpec& s, bool of_b, const std::byte* x) {
    if (of_b) return {x, s.b.dtype, s.n, s.b.col, s.b.row, s.k, gemm::Widths<P>(true)};
    return {x, s.a.dtype, s.m, s.a.row, s.a.col, s.k, gemm::Widths<P>(false)};
  }

  GemmRun(const Gemm& g, const std::byte* a, const std::byte* b, std::byte* c, bool add, std::byte* workspace,
          std::atomic<i64>& next_task, i64 id)
      : of(g.blocks_),
        stays(operand(g.spec_, b_stays, b_stays ? b : a)),
        moves(operand(g.spec_, !b_stays, b_stays ? a : b)),
        depth(gemm::parts_of(g.spec_.k, kElements)),
        c(reinterpret_cast<C*>(c)),
        c_row(g.spec_.c.row),
        add(add),
        next_task(next_task),
        id(id),
        threads(g.blocks_.threads) {
    const Gemm::Workspace<P> w{of};
    block = reinterpret_cast<P*>(workspace);
    packed = block + w.block() + id * (w.piece() + w.tile());
    own_tile = reinterpret_cast<S*>(packed + w.piece());
    sums = reinterpret_cast<S*>(block + w.block() + of.threads * (w.piece() + w.tile()));
  }

  i64 rounds() const {
    return gemm::parts_of(stays.rows, of.block) * gemm::parts_of(moves.rows, of.pieces) * gemm::parts_of(depth, of.k);
  }
  gemm::Round round(i64 index) const {
    const i64 np = gemm::parts_of(depth, of.k), nj = gemm::parts_of(moves.rows, of.pieces);
    const i64 i = index / np / nj * of.block, j = index / np % nj * of.pieces, p = index % np * of.k;
    return {
        i, j, p, std::min(of.block, stays.rows - i), std::min(of.pieces, moves.rows - j), std::min(of.k, depth - p)};
  }

  // A task multiplies a panel by the full block. If that makes too few tasks for the threads, it takes a chunk of the
  // block.
  struct Tasks {
    i64 pieces, chunks, rows;
    i64 count() const { return pieces * chunks; }
  };
  Tasks tasks(const gemm::Round& r) const {
    const i64 pieces = gemm::parts_of(r.n, moves.width.piece), units = gemm::parts_of(r.m, stays.width.panel);
    const i64 chunks = std::min(units, threads == 1 ? 1 : gemm::parts_of(3 * threads, pieces));
    const i64 rows = gemm::parts_of(units, chunks) * stays.width.panel;
    return {pieces, gemm::parts_of(r.m, rows), rows};
  }

  struct Range {
    i64 begin, size;
  };
  // The rows of the block that this thread packs.
  Range share(const gemm::Round& r) const {
    const i64 w = stays.width.panel, units = gemm::parts_of(r.m, w), begin = units * id / threads * w;
    return {begin, std::min(r.m, units * (id + 1) / threads * w) - begin};
  }
  void pack_share(const gemm::Round& r) const {
    const Range rows = share(r);
    for (i64 q = 0; q < r.k; q += of.step) {
      const i64 k = std::min(of.step, r.k - q);
      stays.pack(r.i + rows.begin, r.p + q, rows.size, k, block + q * of.block + rows.begin * k);
    }
  }

  Range piece(const gemm::Round& r, i64 index) const {
    const i64 w = moves.width.piece;
    return {r.j + index * w, std::min(w, r.n - index * w)};
  }
  gemm::Lines piece_lines(const gemm::Round& r, i64 index, i64 q) const {
    const Range rows = piece(r, index);
    return moves.lines(rows.begin, r.p + q, rows.size, std::min(of.step, r.k - q));
  }

  // The work of one task: rows [i, i + m) of the block by rows [j, j + n) of the other operand. Both count from the
  // round's begin.
  struct Area {
    i64 i, j, m, n;
  };

  // Where an area's sums go. `copy`: the part of c that gets the complete sums. nullptr: no copy, or incomplete sums.
  struct Goal {
    S* sums;
    i64 row;
    bool add;
    C* copy;
    bool copy_adds;
  };

  // Adds the products of the `k` packed steps at `from`.
  void tiles(const Area& area, const P* from, i64 k, const Goal& goal, gemm::Ahead& ahead) const {
    for (i64 i = 0; i < area.m; i += stays.width.panel)
      for (i64 j = 0; j < area.n; j += moves.width.panel) {
        const P *x = from + (area.i + i) * k, *y = packed + j * k;
        const i64 row = b_stays ? j : i, rows = std::min(T::kRows, (b_stays ? area.n : area.m) - row);
        const i64 col = b_stays ? i : j, cols = std::min(T::kCols, (b_stays ? area.m : area.n) - col);
        S* sums = goal.sums + row * goal.row + col;
        C* to = goal.copy + row * c_row + col;
        gemm::Target<S> target{sums, goal.row, goal.add, reinterpret_cast<std::byte*>(sums), goal.row * i64(sizeof(S))};
        if (goal.copy) target.lines = reinterpret_cast<std::byte*>(to), target.lines_row = c_row * i64(sizeof(C));
        gemm::tile_of<P>(rows, gemm::parts_of(cols, T::kLanes))(b_stays ? y : x, b_stays ? x : y, k, target, ahead);
        if (goal.copy) copy(sums, goal.row, rows, cols, to, goal.copy_adds);
      }
  }

  void copy(const S* sums, i64 row, i64 rows, i64 cols, C* to, bool adds) const {
    for (i64 i = 0; i < rows; ++i, sums += row, to += c_row)
      if (adds)
        map(cols, kPlus, to, to, sums);
      else
        map(cols, kSame, to, sums);
  }

  // `after`: memory of the next task's first piece, to prefetch.
  void multiply(const gemm::Round& r, const Area& area, i64 index, const gemm::Lines& after, gemm::Lines& later) const {
    const i64 rows = b_stays ? area.n : area.m, cols = b_stays ? area.m : area.n;
    C* to = c + (b_stays ? r.j + area.j : r.i + area.i) * c_row + (b_stays ? r.i + area.i : r.j + area.j);
    C* copy = of.sums && r.p + r.k < depth ? nullptr : to;
    Goal goal{own_tile, gemm::round_up(cols, T::kCols), false, nullptr, add || (r.p > 0 && !of.sums)};
    if (of.sums)
      goal.sums = sums + area.j * of.block + area.i * moves.width.piece, goal.add = r.p > 0;
    else if constexpr (std::is_same_v<S, C>)
      if (cols % T::kLanes == 0) goal.sums = to, goal.row = c_row, goal.add = goal.copy_adds, copy = nullptr;
    for (i64 q = 0; q < r.k; q += of.step) {
      const i64 k = std::min(of.step, r.k - q);
      const bool last = q + k == r.k;
      moves.pack(r.j + area.j, r.p + q, area.n, k, packed);
      gemm::Ahead ahead{last ? after : piece_lines(r, index, q + k), later};
      const i64 groups = gemm::parts_of(rows, T::kRows) * gemm::parts_of(cols, T::kCols) * (k / gemm::kGroup);
      ahead.burst = gemm::parts_of(ahead.next.count(), std::max<i64>(1, groups));
      if (last) goal.copy = copy;
      tiles(area, block + q * of.block, k, goal, ahead);
      goal.add = true, later = ahead.later;
    }
  }

  void work(const gemm::Round& r, const gemm::Round* next) const {
    const Tasks t = tasks(r);
    gemm::Lines later;  // of the next block
    if (next) {
      const Range rows = share(*next);
      later = stays.lines(next->i + rows.begin, next->p, rows.size, next->k);
    }
    for (i64 task = id, then; task < t.count(); task = then) {
      then = next_task++;
      gemm::Lines after;
      if (then < t.count())
        after = piece_lines(r, then / t.chunks, 0);
      else if (next && id < tasks(*next).count())
        after = piece_lines(*next, id / tasks(*next).chunks, 0);
      const i64 index = task / t.chunks, i = task % t.chunks * t.rows;
      const Range rows = piece(r, index);
      multiply(r, {i, rows.begin - r.j, std::min(t.rows, r.m - i), rows.size}, index, after, later);
    }
  }
};

}  // namespace megalith::cpu
