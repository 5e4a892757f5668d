// fp8-check of NVFP4: codes, ue4m3 scales and products.
#include "quant/nvfp4.h"

#include <array>
#include <cmath>

#include "cli/fp8/checks.h"
#include "cli/fp8/linear.h"
#include "quant/cast.h"
#include "quant/scale.h"
#include "quant/scale_order.h"
#include "quant/stochastic.h"

namespace megalith::fp8 {
namespace {

using quant::kNvBlock, quant::NvBlocks, quant::Operand;

struct Nv {
  std::vector<u8> codes, scales;  // [rows, cols / 2], [rows, cols / 16]
  float amax;
  i64 rows, cols;

  Shape scales_shape() const { return {rows, cols / kNvBlock}; }
  Operand operand() const;
};

Operand Nv::operand() const {
  Operand o = {.values = {}, .rows = rows, .k = cols, .scale_inv = {}, .height = 1, .width = kNvBlock};
  for (const u8 two : codes) {
    o.values.push_back(quant::E2M1::decode(two & 15));
    o.values.push_back(quant::E2M1::decode(two >> 4));
  }
  const double inverse = quant::inverse(quant::nv_factor(amax));
  for (const u8 scale : scales) o.scale_inv.push_back(quant::E4M3::decode(scale) * inverse);
  return o;
}

Nv quantize(NvBlocks blocks, const Values& v) {
  Nv nv = {std::vector<u8>(v.at.size() / 2), std::vector<u8>(v.at.size() / kNvBlock),
           quant::amax_of(std::span<const bf16>(v.at)), v.rows, v.cols};
  quant::quantize_nv(blocks, v.matrix(), nv.amax, {nv.codes, v.rows, v.cols / 2},
                     {nv.scales, v.rows, v.cols / kNvBlock});
  return nv;
}

// `t`: "_t" for a transpose.
void hold_codes(VectorCheck& held, const std::string& name, const std::string& t, const Nv& nv) {
  held.equal<u8>(name + "/codes" + t, {nv.rows, nv.cols / 2}, nv.codes);
  held.equal<u8>(name + "/scales" + t, nv.scales_shape(), nv.scales);
  held.equal<float>(name + "/amax" + t, {1}, std::span(&nv.amax, 1));
}

Operand hold_rows(VectorCheck& held, const std::string& name, const Values& v) {
  const Nv nv = quantize(NvBlocks::rows, v);
  const Shape scales = nv.scales_shape();
  std::vector<u8> tiles(size_t(quant::tiles_bytes(scales[0], scales[1])));
  quant::order_tiles({nv.scales, scales[0], scales[1]}, tiles);
  hold_codes(held, name, "", nv);
  held.equal<u8>(name + "/scales_tiles", {i64(tiles.size())}, tiles);
  return nv.operand();
}

// The rotated transpose may differ by the rounding of its sums and to bf16. Its codes must follow from the file's
// transpose.
Operand hold_rotated(VectorFile& file, VectorCheck& held, const std::string& name, const Values& v) {
  const Shape shape = {v.cols, v.rows};
  const std::string key = name + "/rotated_t";
  const Values theirs = {file.read<bf16>(key, shape), v.cols, v.rows}, plain = v.transposed();
  std::vector<bf16> ours(v.at.size());
  quant::rotate_tokens(v.matrix(), {ours, v.cols, v.rows});
  held.near(key, shape, ours, rotation_bounds(theirs, plain));
  const Nv nv = quantize(NvBlocks::rows, theirs);
  hold_codes(held, name, "_t", nv);
  return nv.operand();
}

void hold_hadamard(VectorCheck& held) {
  std::vector<double> matrix;
  for (size_t r = 0; r < 16; ++r) {
    std::array<double, 16> row = {};
    row[r] = 1;
    quant::rotate_16(row);
    matrix.insert(matrix.end(), row.begin(), row.end());
  }
  held.equal<double>("hadamard", {16, 16}, matrix);
}

void hold_stochastic(VectorFile& file, VectorCheck& held) {
  const Shape shape = file.shape("stochastic/x", 1);
  std::vector<float> low, high;
  std::vector<double> p_high;
  for (const float x : file.read<float>("stochastic/x", shape)) {
    const quant::E2M1Neighbours n = quant::e2m1_neighbours(x);
    low.push_back(n.low), high.push_back(n.high), p_high.push_back(n.p_high);
  }
  held.same_numbers("stochastic/low", shape, low);
  held.same_numbers("stochastic/high", shape, high);
  held.equal<double>("stochastic/p_high", shape, p_high);
}

}  // namespace

std::vector<double> rotation_bounds(const Values& theirs, const Values& plain) {
  std::vector<double> bounds;
  for (size_t i = 0; i < theirs.at.size(); ++i) {
    double sum = 0;  // of absolute values: four f32 sums round by 2^-24 of it each, of which a quarter remains
    for (size_t k = i / kNvBlock * kNvBlock; k < (i / kNvBlock + 1) * kNvBlock; ++k)
      sum += std::abs(double(plain.at[k]));
    bounds.push_back(std::abs(double(theirs.at[i])) * 0x1p-7 + sum * 0x1p-24);
  }
  return bounds;
}

void check_nvfp4(VectorFile& file, VectorCheck& held) {
  const Linear l = read_linear(file, kNvBlock);
  const Operand x = hold_rows(held, "x", l.x), dy = hold_rows(held, "dy", l.dy);
  const Nv w = quantize(NvBlocks::squares, l.w), w_t = quantize(NvBlocks::squares, l.w.transposed());
  hold_codes(held, "w", "", w);
  const Operand x_t = hold_rotated(file, held, "x", l.x), dy_t = hold_rotated(file, held, "dy", l.dy);
  held.product("y", x, w.operand());
  held.product("dx", dy, w_t.operand());
  held.product("dw", dy_t, x_t);
  hold_hadamard(held);
  hold_stochastic(file, held);
}

}  // namespace megalith::fp8
