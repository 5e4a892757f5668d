// The backend under test in this folder. Each backend's test program links its implementation of these functions. All
// tests are written once, against an op's plain definition.
#pragma once
#include <algorithm>
#include <functional>
#include <vector>

#include "ops/all.h"

namespace megalith::kernel_tests {

struct Place {
  Mesh mesh = make_mesh({});
  Coord coord{};
};

// One node as one rank sees it; types are logical.
struct KernelContext {
  Place place;
  std::vector<Type> ins, outs;

  Shape in_shape(int i) const { return local_shape(place.mesh, ins[i].shape, ins[i].layout); }
  Shape out_shape(int i) const { return local_shape(place.mesh, outs[i].shape, outs[i].layout); }
  i64 in_bytes(int i) const { return count(in_shape(i)) * size_of(ins[i].dtype); }
  i64 out_bytes(int i) const { return count(out_shape(i)) * size_of(outs[i].dtype); }
};

// Buffers in host memory; an out may be the same memory as an in. `garbage` fills a workspace that is not in host
// memory.
struct Buffers {
  std::vector<std::byte*> ins, outs;
  std::byte* workspace = nullptr;
  bool first_micro_batch = false;
  u8 garbage = 0;
};

struct TestedKernel {
  i64 workspace = 0;  // bytes in host memory
  std::function<void(const Buffers&)> run;
};

TestedKernel prepare_tested(const AnyOp& op, const KernelContext& context);
const std::vector<DType>& tested_dtypes();  // f32 and bf16 at least
// The rounding error of attention's probabilities, and of their gradients, before they are multiplied with tensors of a
// dtype: half a unit in the last place, relative. Tensor cores take both factors in the tensors' own dtype.
double probability_error(DType dtype);
// Whether a product that adds c gives the same bits if its result overwrites c. A library may have different kernels
// for the two cases.
bool same_in_place();
inline bool tested(DType dtype) { return std::ranges::count(tested_dtypes(), dtype) > 0; }

}  // namespace megalith::kernel_tests
