// c = a b, or c + a b: matrices with any strides, of f32, bf16 or f64 each, summed in f32 (f64 if one of them is). The
// operands are converted while they are packed, so bf16 costs no more than f32. Every element is summed in one fixed
// order: results do not depend on the threads.
#pragma once
#include <memory>

#include "ops/einsum_plan.h"

namespace megalith::cpu {

class Gemm {
 public:
  explicit Gemm(const GemmSpec& spec);
  i64 workspace() const;  // bytes, for a 64-byte aligned block

  // With `add`, c is added to.
  void run(const std::byte* a, const std::byte* b, std::byte* c, bool add, std::byte* workspace) const;

 private:
  struct Blocks {
    i64 m, n, k;    // of one round: A's packed block is [m, k]
    i64 step;       // of k: how much of it one panel of B has
    i64 threads;    // at most
    bool own_tile;  // some tiles cannot go to c itself: a block [m, columns of a panel] for each thread
    bool sums;      // c cannot hold partial sums: a block [m, n] of them
  };
  template <class S>
  static Blocks cut(const GemmSpec& spec);
  template <class S>
  struct Workspace;
  template <class S, class C>
  friend struct GemmRun;

  GemmSpec spec_;
  Blocks blocks_;
  bool double_;  // sums in f64
};

}  // namespace megalith::cpu
