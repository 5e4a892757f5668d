// One prepared matrix product: y = a b, with a matrix or a bias added in the same pass, through cuBLASLt. Sums are
// f32 (TF32 off). No algorithm is allowed whose result depends on the order in which blocks finish, or whose partial
// sums have less than f32. So the same operands give the same bits.
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
// type, added to each row of y. A bf16 y with an added term may also be rounded before the addition, as by two ops:
// the library's kernels do that. `a_scale`, `b_scale`: for operands of codes, whose values are code times this f32.
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

  // Adds variants that the library does not suggest, with tiles that cut this product better (gemm_variants.h).
  // Returns their number, 0 if they exist already. Large products of bf16 and of codes on Hopper have some.
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

// Shared by the products of one device.
struct GemmLibrary {
  std::map<std::string, std::shared_ptr<Gemm>> products;  // by problem
  SustainedClocks clocks;
};

// The device's one product for `problem`, made at first use.
std::shared_ptr<Gemm> shared_gemm(Device& device, const GemmProblem& problem);

}  // namespace megalith::cuda
