// fp8-check of NVFP4 by a device's kernels: casts and products.
#include "quant/nvfp4.h"

#include <cmath>

#include "cli/fp8/ops/checks.h"
#include "quant/scale.h"

namespace megalith::fp8 {
namespace {

using quant::kNvBlock;

struct NvCoded {
  CodedBoth q;
  float amax = 0;
};

NvCoded nv_by_op(const OpCheck& c, bool squares, const Values& v) {
  const Array amax = c.ops.run(Amax{{v.rows, v.cols}}, {array_of(v)})[0];
  const Quantize op{.format = CodeFormat::e2m1, .scaling = Scaling::nv, .box = {squares ? kNvBlock : 1, kNvBlock}};
  return {coded_by_op(c.ops, op, v, {amax}), amax.as<float>()[0]};
}

// The ue4m3 code of a box's scale. The op gives decode(code) / factor. 0xff: no code.
u8 nv_code_of(float scale_inv, float inverse) {
  for (u32 code = 0; code < 0x7f; ++code)
    if (quant::E4M3::decode(code) * inverse == scale_inv) return u8(code);
  return 0xff;
}

// The file has two codes a byte, and the scales of square blocks repeated for each row. `t`: "_t" for a transpose.
void hold_nv(const OpCheck& c, const std::string& name, const std::string& t, const NvCoded& nv) {
  const CodedMatrix& m = nv.q.as_is;
  const i64 across = m.cols / kNvBlock;
  std::vector<u8> codes, scales;
  for (size_t i = 0; i < m.codes.size(); i += 2) codes.push_back(u8(m.codes[i] | m.codes[i + 1] << 4));
  const float inverse = quant::inverse(quant::nv_factor(nv.amax));
  for (i64 r = 0; r < m.rows; ++r)
    for (i64 k = 0; k < across; ++k)
      scales.push_back(nv_code_of(m.scale_inv[size_t(r / m.height * across + k)], inverse));
  c.held.equal<u8>(name + "/codes" + t, {m.rows, m.cols / 2}, codes);
  c.held.equal<u8>(name + "/scales" + t, {m.rows, across}, scales);
  c.held.equal<float>(name + "/amax" + t, {1}, std::span(&nv.amax, 1));
}

CodedMatrix hold_nv_rows(const OpCheck& c, const std::string& name, const Values& v) {
  const NvCoded nv = nv_by_op(c, false, v);
  hold_nv(c, name, "", nv);
  c.held.lacks(name + "/scales_tiles", "no op gives scales in the order of a library");
  return nv.q.as_is;
}

// Values may differ by the rounding of sums and to bf16. The codes must follow from the file's values.
CodedMatrix hold_nv_rotated(const OpCheck& c, const std::string& name, const Values& v) {
  const std::string key = name + "/rotated_t";
  const Values theirs = {c.file.read<bf16>(key, {v.cols, v.rows}), v.cols, v.rows}, plain = v.transposed();
  const Values ours = Values{c.ops.run(RotateTokens{}, {array_of(v)})[0].as<bf16>(), v.rows, v.cols}.transposed();
  c.held.near(key, {v.cols, v.rows}, ours.at, rotation_bounds(theirs, plain));
  const NvCoded nv = nv_by_op(c, false, theirs);
  hold_nv(c, name, "_t", nv);
  return nv.q.as_is;
}

}  // namespace

void check_nvfp4_by_ops(const OpCheck& c) {
  const Linear l = read_linear(c.file, kNvBlock);
  const CodedMatrix x = hold_nv_rows(c, "x", l.x), dy = hold_nv_rows(c, "dy", l.dy);
  const NvCoded w = nv_by_op(c, true, l.w);
  hold_nv(c, "w", "", w);
  const CodedMatrix x_t = hold_nv_rotated(c, "x", l.x), dy_t = hold_nv_rotated(c, "dy", l.dy);
  hold_product_by_op(c, "y", x, w.q.as_is);
  hold_product_by_op(c, "dx", dy, w.q.turned);
  hold_product_by_op(c, "dw", dy_t, x_t);
  std::vector<double> one(256), turned(256);
  for (size_t i = 0; i < 16; ++i) one[i * 17] = 1;
  const std::vector<double> columns = c.ops.run(RotateTokens{}, {array_of(DType::f64, {16, 16}, one)})[0].as<double>();
  for (size_t i = 0; i < 256; ++i) turned[i] = columns[i % 16 * 16 + i / 16];
  c.held.equal<double>("hadamard", {16, 16}, turned);
  for (const char* name : {"x", "low", "high", "p_high"})
    c.held.lacks(fmt::format("stochastic/{}", name), "an op rounds by random bits, and gives no probabilities");
}

}  // namespace megalith::fp8
