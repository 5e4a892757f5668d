// fp8-check of MXFP8: codes, ue8m0 scales and products.
#include "quant/mxfp8.h"

#include "cli/fp8/checks.h"
#include "cli/fp8/linear.h"
#include "quant/e8m0.h"
#include "quant/scale_order.h"

namespace megalith::fp8 {
namespace {

using quant::Fp8;

struct Mx {
  Quantized values;
  std::vector<u8> e8m0;  // [rows, cols / 32]

  Shape scales() const { return {values.rows, values.cols / quant::kMxBlock}; }
};

Mx quantize(Fp8 format, const Values& v) {
  const i64 blocks = v.cols / quant::kMxBlock;
  Mx mx = {{format, std::vector<u8>(v.at.size()), v.rows, v.cols, 1, quant::kMxBlock, {}},
           std::vector<u8>(size_t(v.rows * blocks))};
  quant::quantize_mx(format, v.matrix(), {mx.values.codes, v.rows, v.cols}, {mx.e8m0, v.rows, blocks});
  for (const u8 code : mx.e8m0) mx.values.scale_inv.push_back(quant::E8M0::decode(code));
  return mx;
}

// `t`: "_t" for a transpose.
void hold_codes(VectorCheck& held, const std::string& name, const std::string& t, const Mx& mx) {
  held.codes(name + "/codes" + t, {mx.values.rows, mx.values.cols}, mx.values.format, mx.values.codes);
  held.equal<u8>(name + "/e8m0" + t, mx.scales(), mx.e8m0);
}

quant::Operand hold_mx(VectorCheck& held, const std::string& name, const std::string& t, const Values& v) {
  const Mx mx = quantize(Fp8::e4m3, v);
  const Shape scales = mx.scales();
  std::vector<u8> tiles(size_t(quant::tiles_bytes(scales[0], scales[1])));
  quant::order_tiles({mx.e8m0, scales[0], scales[1]}, tiles);
  hold_codes(held, name, t, mx);
  held.equal<u8>(name + "/e8m0" + t + "_tiles", {i64(tiles.size())}, tiles);
  return mx.values.operand();
}

}  // namespace

void check_mxfp8(VectorFile& file, VectorCheck& held) {
  const Linear l = read_linear(file, quant::kMxBlock);
  const auto hold = [&](const char* name, const Values& v) { return hold_mx(held, name, "", v); };
  const auto hold_t = [&](const char* name, const Values& v) { return hold_mx(held, name, "_t", v.transposed()); };
  const quant::Operand x = hold("x", l.x), x_t = hold_t("x", l.x), w = hold("w", l.w), w_t = hold_t("w", l.w),
                       dy = hold("dy", l.dy), dy_t = hold_t("dy", l.dy);
  hold_codes(held, "dy_e5m2", "", quantize(Fp8::e5m2, l.dy));
  held.product("y", x, w);
  held.product("dx", dy, w_t);
  held.product("dw", dy_t, x_t);
}

}  // namespace megalith::fp8
