// c = a b, or c += a b. Each matrix may have any strides and be f32, bf16, f16 or f64. Sums are f32, or f64 if one
// matrix is f64. Packing converts the operands, so 16-bit operands cost no more than f32. Each element is summed in a
// fixed order, so results do not depend on the number of threads.
#pragma once
#include <memory>

#include "ops/einsum_plan.h"

namespace megalith::cpu {

class Gemm {
 public:
  explicit Gemm(const GemmSpec& spec);
  i64 workspace() const;  // bytes; it must be 64-byte aligned

  // `add`: adds the product to c. Otherwise overwrites c.
  void run(const std::byte* a, const std::byte* b, std::byte* c, bool add, std::byte* workspace) const;

 private:
  struct Blocks {
    bool b_stays;          // the operand that is packed a block at a time: true: b, false: a
    i64 block, pieces, k;  // of a round: rows (or columns of b) of the block, of the other operand; steps of k
    i64 step;              // steps of k in one piece of the other operand
    i64 threads;           // most threads that are used
    bool own_tile;         // some tiles cannot be summed in c: each thread has memory for the tiles of one piece
    bool sums;             // c cannot hold partial sums: a round has memory for them
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
