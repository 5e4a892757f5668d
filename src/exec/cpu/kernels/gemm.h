// c = a b, or c += a b. Each matrix may have any strides and be f32, bf16, f16 or f64. Sums are f32, or f64 if one
// matrix is f64. Packing converts the operands, so 16-bit operands cost no more than f32. Each element is summed in a
// fixed order. So results do not depend on the number of threads, and a row not on the rows beside it.
#pragma once
#include <memory>

#include "ops/einsum_plan.h"

namespace megalith::cpu {

bool has_bf16_pairs();  // this build has AVX-512 vectors, and the CPU has avx512_bf16

class Gemm {
 public:
  // `pairs`: two elements of k by one instruction, if has_bf16_pairs() and both operands are bf16. Such products take
  // subnormal numbers for 0.
  explicit Gemm(const GemmSpec& spec, bool pairs = false);
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
  enum class Packed { f32, f64, pairs };
  template <class P>
  static Blocks cut(const GemmSpec& spec);
  template <class P>
  struct Workspace;
  template <class P, class C>
  friend struct GemmRun;
  template <class F>
  auto with_step(F&& f) const;

  GemmSpec spec_;
  Packed packed_;
  Blocks blocks_;
};

}  // namespace megalith::cpu
