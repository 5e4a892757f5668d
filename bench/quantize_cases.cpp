// Casts to fp8 with one scale a tensor, at the sizes of an 8B model's layers: 16,384 tokens.
#include "kernel_cases.h"

namespace megalith::cuda {

std::vector<Case> quantize_cases() {
  const Type one = of(DType::f32, {1, 1, 1});
  std::vector<Case> all;
  for (const i64 width : {4096, 14336}) {
    const Type x = of(DType::bf16, {8192, 2, width});
    const std::string size = fmt::format(" 16384x{}", width);
    Quantize op{.box = x.shape};
    op.split = 2;
    all.push_back({"amax" + size, Amax{x.shape}, {x}});
    for (const CodeOrders orders : {CodeOrders::as_is, CodeOrders::transposed, CodeOrders::both}) {
      op.orders = orders;
      all.push_back({fmt::format("quantize {}, {}", size.substr(1), name_of(orders)), op, {x, one}});
    }
    op.format = CodeFormat::e5m2;
    all.push_back({"quantize" + size + ", both, e5m2", op, {x, one}});
  }
  return all;
}

}  // namespace megalith::cuda
