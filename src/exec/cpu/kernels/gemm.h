// c = a b, or c + a b: matrices with any strides, of f32, bf16, f16 or f64 each, summed in f32 (f64 if one of them is).
// The operands are converted while they are packed, so 16-bit ones cost no more than f32. Every element is summed in
// one fixed order: results do not depend on the threads.
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
    bool b_stays;          // which operand is packed a block at a time: b, or a
    i64 block, pieces, k;  // of one round: rows of that block (columns of b), of the other operand, and steps of k
    i64 step;              // of k in one piece of the other operand
    i64 threads;           // at most
    bool own_tile;         // some tiles cannot go to c itself: a block for those of one piece, for each thread
    bool sums;             // c cannot hold partial sums: a block of them for the round
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
