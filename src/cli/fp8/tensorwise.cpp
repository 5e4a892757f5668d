// fp8-check of tensorwise scaling: one scale a tensor.
#include "cli/fp8/checks.h"
#include "cli/fp8/linear.h"
#include "quant/cast.h"
#include "quant/scale.h"

namespace megalith::fp8 {
namespace {

using quant::Fp8;

struct Tensorwise {
  VectorCheck& held;
  std::string tag;  // suffixes of names
  quant::ScaleRule rule;

  // Quantizes by the tensor's own amax. Checks scales, codes and their transpose.
  Quantized quantize(const std::string& name, Fp8 format, const Values& v) const {
    const std::span<const bf16> values(v.at);
    const float amax = quant::amax_of(values), scale = quant::current_scale(amax, quant::largest_of(format), rule);
    Quantized q = {format, std::vector<u8>(v.at.size()), v.rows, v.cols, v.rows, v.cols, {quant::inverse(scale)}};
    quant::cast(format, values, scale, q.codes);
    const std::string key = name + tag;
    held.equal<float>(key + "/amax", {1}, std::span(&amax, 1));
    held.equal<float>(key + "/scale", {1}, std::span(&scale, 1));
    held.equal<float>(key + "/scale_inv", {1}, q.scale_inv);
    held.codes(key + "/codes", {v.rows, v.cols}, format, q.codes);
    held.codes(key + "/codes_t", {v.cols, v.rows}, format, q.transposed().codes);
    return q;
  }

  void operator()(const Linear& l) const {
    const Quantized x = quantize("x", Fp8::e4m3, l.x), w = quantize("w", Fp8::e4m3, l.w),
                    dy = quantize("dy", Fp8::e5m2, l.dy);
    held.product("y" + tag, x.operand(), w.operand());
    held.product("dx" + tag, dy.operand(), w.transposed().operand());
    held.product("dw" + tag, dy.transposed().operand(), x.transposed().operand());
  }
};

}  // namespace

void check_tensorwise(VectorFile& file, VectorCheck& held) {
  const Linear linear = read_linear(file, 1);
  Tensorwise{held, "", {}}(linear);
  Tensorwise{held, "_pow2", {.power_of_two = true}}(linear);
}

}  // namespace megalith::fp8
