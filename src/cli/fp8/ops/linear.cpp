// The casts and products of one layer for each fp8 recipe.
#include "cli/fp8/ops/checks.h"
#include "quant/blocks.h"
#include "quant/e8m0.h"
#include "quant/mxfp8.h"

namespace megalith::fp8 {
namespace {

using quant::Fp8;

constexpr const char* kOrderIsTheProducts = "no op gives scales in the order of a library: products do that themselves";

void hold_matrix(const OpCheck& c, const std::string& name, const std::string& t, Fp8 format, const CodedMatrix& m) {
  c.held.codes(name + "/codes" + t, {m.rows, m.cols}, format, m.codes);
}

CodedBoth hold_tensor(const OpCheck& c, const std::string& name, Fp8 format, const Values& v) {
  const Shape whole = {v.rows, v.cols};
  const Array amax = c.ops.run(Amax{whole}, {array_of(v)})[0];
  const CodedBoth q = coded_by_op(c.ops, {.format = code_format(format), .box = whole}, v, {amax});
  c.held.equal<float>(name + "/amax", {1}, amax.as<float>());
  c.held.lacks(name + "/scale", "an op gives scale_inv alone");
  c.held.equal<float>(name + "/scale_inv", {1}, q.as_is.scale_inv);
  hold_matrix(c, name, "", format, q.as_is), hold_matrix(c, name, "_t", format, q.turned);
  return q;
}

// 1 x 128 or 1 x 32 blocks, of v and of its transpose.
CodedMatrix rows_by_op(const OpCheck& c, Scaling scaling, i64 block, Fp8 format, const Values& v, bool turned) {
  const Shape box = turned ? Shape{block, 1} : Shape{1, block};
  const CodedBoth q = coded_by_op(c.ops, {.format = code_format(format), .scaling = scaling, .box = box}, v);
  return turned ? q.turned : q.as_is;
}

CodedMatrix hold_block_rows(const OpCheck& c, const std::string& name, const Values& v, bool turned) {
  const CodedMatrix q = rows_by_op(c, Scaling::power_of_two, quant::kBlock, Fp8::e4m3, v, turned);
  const std::string t = turned ? "_t" : "";
  hold_matrix(c, name, t, Fp8::e4m3, q);
  c.held.equal<float>(name + "/scale_inv" + t, {q.rows, quant::blocks_of(q.cols, quant::kBlock)}, q.scale_inv);
  c.held.lacks(name + "/scale_inv" + t + "_gemm", kOrderIsTheProducts);
  return q;
}

CodedBoth hold_squares(const OpCheck& c, const std::string& name, const Values& v) {
  const Quantize op{.scaling = Scaling::power_of_two, .box = {quant::kBlock, quant::kBlock}};
  const CodedBoth q = coded_by_op(c.ops, op, v);
  hold_matrix(c, name, "", Fp8::e4m3, q.as_is);
  c.held.equal<float>(name + "/scale_inv",
                      {quant::blocks_of(v.rows, quant::kBlock), quant::blocks_of(v.cols, quant::kBlock)},
                      q.as_is.scale_inv);
  for (const char* t : {"", "_t"}) c.held.lacks(name + "/scale_inv" + t + "_gemm", kOrderIsTheProducts);
  return q;
}

CodedMatrix hold_mx_rows(const OpCheck& c, const std::string& name, Fp8 format, const Values& v, bool turned,
                         bool tiles = true) {
  const CodedMatrix q = rows_by_op(c, Scaling::mx, quant::kMxBlock, format, v, turned);
  const std::string t = turned ? "_t" : "";
  hold_matrix(c, name, t, format, q);
  std::vector<u8> codes;
  for (const float s : q.scale_inv) codes.push_back(quant::E8M0::encode_up(s));  // a power of two has its own
  c.held.equal<u8>(name + "/e8m0" + t, {q.rows, q.cols / quant::kMxBlock}, codes);
  if (tiles) c.held.lacks(name + "/e8m0" + t + "_tiles", kOrderIsTheProducts);
  return q;
}

}  // namespace

void check_tensorwise_by_ops(const OpCheck& c) {
  const Linear l = read_linear(c.file, 1);
  const CodedBoth x = hold_tensor(c, "x", Fp8::e4m3, l.x), w = hold_tensor(c, "w", Fp8::e4m3, l.w),
                  dy = hold_tensor(c, "dy", Fp8::e5m2, l.dy);
  hold_product_by_op(c, "y", x.as_is, w.as_is);
  hold_product_by_op(c, "dx", dy.as_is, w.turned);
  hold_product_by_op(c, "dw", dy.turned, x.turned);
  for (const char* name : {"x", "w", "dy"})
    for (const char* of : {"amax", "scale", "scale_inv", "codes", "codes_t"})
      c.held.lacks(fmt::format("{}_pow2/{}", name, of), "no recipe has one power of two a tensor");
  for (const char* name : {"y", "dx", "dw"})
    c.held.lacks(fmt::format("{}_pow2", name), "no recipe has one power of two a tensor");
}

void check_blockwise_by_ops(const OpCheck& c) {
  const Linear l = read_linear(c.file, 1);
  const CodedMatrix x = hold_block_rows(c, "x", l.x, false), x_t = hold_block_rows(c, "x", l.x, true),
                    dy = hold_block_rows(c, "dy", l.dy, false), dy_t = hold_block_rows(c, "dy", l.dy, true);
  const CodedBoth w = hold_squares(c, "w", l.w);
  hold_product_by_op(c, "y", x, w.as_is);
  hold_product_by_op(c, "dx", dy, w.turned);
  hold_product_by_op(c, "dw", dy_t, x_t);
  constexpr const char* kWhy = "no recipe has blocks with scales that are no powers of two";
  for (const char* name : {"x", "dy"})
    for (const char* of : {"codes", "scale_inv", "codes_t", "scale_inv_t"})
      c.held.lacks(fmt::format("{}_f32/{}", name, of), kWhy);
  for (const char* name : {"w_f32/codes", "w_f32/scale_inv", "y_f32"}) c.held.lacks(name, kWhy);
}

void check_mxfp8_by_ops(const OpCheck& c) {
  const Linear l = read_linear(c.file, quant::kMxBlock);
  const auto hold = [&](const char* name, const Values& v, bool turned) {
    return hold_mx_rows(c, name, Fp8::e4m3, v, turned);
  };
  const CodedMatrix x = hold("x", l.x, false), x_t = hold("x", l.x, true), w = hold("w", l.w, false),
                    w_t = hold("w", l.w, true), dy = hold("dy", l.dy, false), dy_t = hold("dy", l.dy, true);
  hold_mx_rows(c, "dy_e5m2", Fp8::e5m2, l.dy, false, false);
  hold_product_by_op(c, "y", x, w);
  hold_product_by_op(c, "dx", dy, w_t);
  hold_product_by_op(c, "dw", dy_t, x_t);
}

}  // namespace megalith::fp8
