// Casts to fp8 with one scale per tensor, at the sizes of an 8B model's layers: 16,384 tokens.
#include "kernel_cases.h"
#include "ops/coded_result.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"

namespace megalith::cuda {

// Casts fused into RMSNorm, SwiGLU and its gradient, by a kept scale and by blocks; and both casts by blocks at
// once.
static void add_coded(std::vector<Case>& all) {
  const Type x = of(DType::bf16, {8192, 2, 2, 14336}), y = of(DType::bf16, {8192, 2, 14336}),
             h = of(DType::bf16, {8192, 2, 4096}), state = of(DType::f32, {2, 3});
  const auto kept = [](const Type& t) {
    Quantize op{.scaling = Scaling::kept, .box = t.shape, .at = 1, .orders = CodeOrders::both, .split = 2};
    op.gives_amax = true;
    return std::vector<Quantize>{op};
  };
  const auto blocks = [](const Type& t) {
    Quantize features{.scaling = Scaling::power_of_two, .box = Shape(t.shape.size(), 1)}, tokens = features;
    features.box.back() = tokens.box[0] = 128;
    tokens.orders = CodeOrders::transposed, tokens.split = 2, tokens.by_sequence = true;
    return std::vector<Quantize>{features, tokens};
  };
  const Type w = of(DType::bf16, {4096});
  all.push_back({"rms_norm 16384x4096", RmsNorm{}, {h, w}});
  all.push_back({"rms_norm as codes, kept scale", CodedResult{RmsNorm{}, h, kept(h)}, {h, w, state}});
  all.push_back({"rms_norm as codes, blocks", CodedResult{RmsNorm{}, h, blocks(h)}, {h, w}});
  all.push_back({"swiglu", Swiglu{}, {x}});
  all.push_back({"swiglu as codes, kept scale", CodedResult{Swiglu{}, y, kept(y)}, {x, state}});
  all.push_back({"swiglu as codes, blocks", CodedResult{Swiglu{}, y, blocks(y)}, {x}});
  all.push_back({"swiglu_grad", SwigluGrad{}, {y, x}});
  all.push_back({"swiglu_grad as codes, kept scale", CodedResult{SwigluGrad{}, x, kept(x)}, {y, x, state}});
  all.push_back({"swiglu_grad as codes, blocks", CodedResult{SwigluGrad{}, x, blocks(x)}, {y, x}});
  all.push_back({"both casts 16384x4096, blocks", CodedResult{{}, h, blocks(h)}, {h}});
  all.push_back({"both casts 16384x28672, blocks", CodedResult{{}, x, blocks(x)}, {x}});
}

std::vector<Case> quantize_cases() {
  const Type one = of(DType::f32, {1, 1, 1});
  std::vector<Case> all;
  add_coded(all);
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
