// One matrix product, prepared: y = a b, with a matrix or a bias added in the same pass, through cuBLASLt. Sums are in
// f32 (TF32 off); no algorithm is allowed whose result depends on the order in which blocks finish, or that keeps
// partial sums in less than f32: the same operands give the same bits.
//
// The library is column-major. What it gets is y^T = b^T a^T: its rows are our columns, so a bias along our columns is
// what its epilogue adds.
#pragma once
#include <memory>

#include "exec/cuda/device.h"
#include "exec/cuda/products/gemm_tuner.h"
#include "exec/cuda_needs/gemm_problem.h"

namespace megalith::cuda {

// Device memory. `plus`: what is added, in y's type and layout, y itself if that is added to in place; null: nothing.
// `bias`: n numbers of y's type, added to each row of y. A bf16 y that something is added to may be rounded before as
// well, as by two ops: the library's kernels do that. `a_scale`, `b_scale`: of operands of codes, which stand for their
// product with this f32.
struct GemmArgs {
  const std::byte *a = nullptr, *b = nullptr;
  std::byte* y = nullptr;
  const std::byte *plus = nullptr, *bias = nullptr;
  std::byte* workspace = nullptr;  // 256-byte aligned, workspace() bytes
  cudaStream_t stream = nullptr;
  const std::byte *a_scale = nullptr, *b_scale = nullptr;
};

class Gemm {
 public:
  // Finds out which algorithms there are; takes the one that was stored for this problem, else the one that the library
  // expects to be fastest.
  Gemm(Device& device, const GemmProblem& problem);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  // Whether the library has this product (is_library_kind) in these sizes. The rest of the functions are for possible
  // products only.
  bool possible() const;
  i64 workspace() const;              // bytes: the most that any of the algorithms needs
  bool chosen() const;                // by measurement, now or earlier, or there is nothing to choose
  int num_algorithms() const;         // for measurements
  void use_algorithm(int algorithm);  // the library's first suggestion is 0

  // Adds ways that the library does not suggest, with tiles that cut this product better (gemm_variants.h), to the
  // algorithms; how many, 0 if they are there. Large products of bf16 and of codes on Hopper have some.
  int add_variants();

  // Enqueues. Error naming the problem if the library refuses.
  void run(const GemmArgs& args) const;
  // Measures the algorithms, of large products variants too, unless one is chosen or choices do not last, and remembers
  // the fastest. The operands must
  // hold numbers as varied as a run's: less varied ones take less power, and power is what limits a large product.
  // Writes y. Waits.
  void tune(const GemmArgs& args);

 private:
  struct Library;
  std::unique_ptr<Library> lt_;
};

// What the products of one device share.
struct GemmLibrary {
  std::map<std::string, std::shared_ptr<Gemm>> products;  // by problem
  SustainedClocks clocks;
};

// The device's one product for `problem`, made at first use.
std::shared_ptr<Gemm> shared_gemm(Device& device, const GemmProblem& problem);

}  // namespace megalith::cuda
