// Casts to fp8 with one scale per tensor, at the sizes of an 8B model's layers: 16,384 tokens.
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
    Quantize kept{.scaling = Scaling::kept, .box = x.shape, .at = 1, .orders = CodeOrders::both, .split = 2};
    kept.gives_amax = true;
    all.push_back({"quantize" + size + ", both, and its amax", kept, {x, of(DType::f32, {2, 3})}});
    Quantize tokens{.scaling = Scaling::power_of_two, .box = {128, 1, 1}, .orders = CodeOrders::transposed, .split = 2};
    tokens.by_sequence = true;
    all.push_back({"quantize" + size + ", by sequence, 128x1x1", tokens, {x}});
    all.push_back(
        {"quantize" + size + ", as is, 1x1x128", Quantize{.scaling = Scaling::power_of_two, .box = {1, 1, 128}}, {x}});
    for (const Shape& box : {Shape{1, 1, 128}, Shape{128, 1, 1}}) {
      const Quantize blocks{.scaling = Scaling::power_of_two, .box = box, .orders = CodeOrders::transposed, .split = 2};
      const Type tokens = of(DType::bf16, {16384, 1, width});
      all.push_back({fmt::format("quantize{}, transposed, {}", size, to_string(box)), blocks, {tokens}});
    }
    const Quantize squares{.scaling = Scaling::power_of_two, .box = {128, 128}, .orders = CodeOrders::both, .split = 1};
    all.push_back({fmt::format("quantize 4096x{}, both, 128x128", width), squares, {of(DType::bf16, {4096, width})}});
    op.format = CodeFormat::e5m2;
    all.push_back({"quantize" + size + ", both, e5m2", op, {x, one}});
  }
  return all;
}

}  // namespace megalith::cuda
