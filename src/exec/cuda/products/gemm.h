// One prepared matrix product: y = a b, with a matrix or a bias added in the same pass, through cuBLASLt. Sums are
// f32 (TF32 off). An algorithm's result must not depend on the order in which blocks finish. Its partial sums must be
// at least f32. So the same operands give the same bits.
//
// The library is column-major. It computes y^T = b^T a^T: its rows are our columns, so its epilogue's bias is along
// our columns.
#pragma once
#include <memory>

#include "exec/cuda/device.h"
#include "exec/cuda/products/gemm_tuner.h"
#include "exec/cuda_needs/gemm_problem.h"

namespace megalith::cuda {

// Device memory. `plus`: the added term, in y's type and layout, or y itself; nullptr: none. `bias`: n numbers of y's
// type, added to each row of y. A bf16 y may be rounded before `plus` is added, as by two ops: the library's kernels do
// that. `a_scale`, `b_scale`: for operands of codes, whose values are code times this f32.
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
  // Lists the possible algorithms. It uses the stored one for this problem, else the one that the library ranks first.
  Gemm(Device& device, const GemmProblem& problem);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  // Whether the library supports this product (is_library_kind) in these sizes. The other functions may be called only
  // then.
  bool possible() const;
  i64 workspace() const;              // bytes; the maximum over the algorithms
  bool chosen() const;                // by measurement, now or earlier, or because there is no choice
  int num_algorithms() const;         // for measurements
  void use_algorithm(int algorithm);  // the library's first suggestion is 0

  // Adds variants that the library does not suggest, with tiles that cut this product better (gemm_variants.h).
  // Returns their number, 0 if they exist already. Large products of bf16 and of codes on Hopper have some.
  int add_variants();

  // Enqueues. Error naming the problem if the library refuses.
  void run(const GemmArgs& args) const;
  // Chooses the fastest algorithm by measurement; for large products also among variants. It does nothing if one is
  // chosen, or if choices are not kept. The operands must hold numbers as varied as in a run: less varied ones take
  // less power, which limits large products. Writes y. Waits.
  void tune(const GemmArgs& args);

 private:
  struct Library;
  std::unique_ptr<Library> lt_;
};

// The products of one device, shared by its kernels.
struct GemmLibrary {
  std::map<std::string, std::shared_ptr<Gemm>> products;  // by problem
  SustainedClocks clocks;
};

// The device's product for `problem`, created at first use.
std::shared_ptr<Gemm> shared_gemm(Device& device, const GemmProblem& problem);

}  // namespace megalith::cuda
