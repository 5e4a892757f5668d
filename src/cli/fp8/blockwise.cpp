// fp8-check of blockwise scaling: compares our codes, scales and products with a file of vectors.
#include "quant/blocks.h"

#include "cli/fp8/checks.h"
#include "cli/fp8/linear.h"
#include "quant/scale_order.h"

namespace megalith::fp8 {
namespace {

using quant::kBlock;

struct Blockwise {
  VectorCheck& held;
  std::string tag;  // suffixes of names
  quant::BlockRule rule;

  // 1 x 128 blocks. `t`: "_t" for a transpose.
  Quantized rows(const std::string& name, const std::string& t, const Values& v) const {
    const i64 blocks = quant::blocks_of(v.cols, kBlock);
    Quantized q = {rule.format, std::vector<u8>(v.at.size()), v.rows, v.cols, 1, kBlock, {}};
    q.scale_inv.resize(size_t(v.rows * blocks));
    quant::quantize_rows(rule, v.matrix(), {q.codes, v.rows, v.cols}, {q.scale_inv, v.rows, blocks});
    hold(name + tag, t, q);
    if (!rule.power_of_two) return q;  // the file has orders only of scales that are powers of two
    const i64 filled = quant::filled_to(v.rows, 4);
    std::vector<float> order(size_t(blocks * filled));
    quant::order_row_scales({q.scale_inv, v.rows, blocks}, {order, blocks, filled});
    held.equal<float>(name + "/scale_inv" + t + "_gemm", {blocks, filled}, order);
    return q;
  }

  Quantized squares(const std::string& name, const Values& v) const {
    const i64 high = quant::blocks_of(v.rows, kBlock), wide = quant::blocks_of(v.cols, kBlock);
    Quantized q = {rule.format, std::vector<u8>(v.at.size()), v.rows, v.cols, kBlock, kBlock, {}};
    q.scale_inv.resize(size_t(high * wide));
    quant::quantize_squares(rule, v.matrix(), {q.codes, v.rows, v.cols}, {q.scale_inv, high, wide});
    hold(name + tag, "", q);
    if (rule.power_of_two)
      square_order(name + "/scale_inv_gemm", q), square_order(name + "/scale_inv_t_gemm", q.transposed());
    return q;
  }

  void hold(const std::string& key, const std::string& t, const Quantized& q) const {
    held.codes(key + "/codes" + t, {q.rows, q.cols}, q.format, q.codes);
    held.equal<float>(key + "/scale_inv" + t, {quant::blocks_of(q.rows, q.height), quant::blocks_of(q.cols, q.width)},
                      q.scale_inv);
  }

  void square_order(const std::string& key, const Quantized& q) const {
    const i64 high = quant::blocks_of(q.rows, kBlock), wide = quant::blocks_of(q.cols, kBlock),
              filled = quant::filled_to(wide, 4);
    std::vector<float> order(size_t(high * filled));
    quant::order_square_scales({q.scale_inv, high, wide}, {order, high, filled});
    held.equal<float>(key, {high, filled}, order);
  }

  void operator()(const Linear& l) const {
    const Quantized x = rows("x", "", l.x), x_t = rows("x", "_t", l.x.transposed()), dy = rows("dy", "", l.dy),
                    dy_t = rows("dy", "_t", l.dy.transposed()), w = squares("w", l.w);
    held.product("y" + tag, x.operand(), w.operand());
    if (!rule.power_of_two) return;  // as for the orders
    held.product("dx", dy.operand(), w.transposed().operand());
    held.product("dw", dy_t.operand(), x_t.operand());
  }
};

}  // namespace

void check_blockwise(VectorFile& file, VectorCheck& held) {
  const Linear linear = read_linear(file, 1);
  Blockwise{held, "", {}}(linear);
  Blockwise{held, "_f32", {.power_of_two = false}}(linear);
}

}  // namespace megalith::fp8
