// Kernel of QuantizedGroupedProduct. It transposes turned codes back, so that sums are bitwise the same. It decodes
// both operands into the workspace, in f32. Then it runs GroupedProduct's kernel.
#include "ops/quantized_grouped_product.h"

#include <array>
#include <tuple>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/code_transpose.h"
#include "exec/cpu/kernels/decode.h"

namespace megalith::cpu {
namespace {

constexpr i64 aligned(i64 bytes) { return (bytes + 63) / 64 * 64; }

// Codes of one operand, with one scale, to f32 values in the order before they were turned.
class Operand {
 public:
  Operand(CodeFormat format, const Shape& codes, Turn turn)
      : n_(count(codes)), turns_(turn.split > 0), decoder_(format, {n_}, {std::max<i64>(n_, 1)}) {
    const Shape matrix = layers_of(codes, turn.kept).second;
    std::tie(rows_, columns_) = matrix_of(matrix, int(matrix.size()) - turn.split);
  }
  i64 bytes() const { return aligned(n_ * i64(sizeof(float))) + (turns_ ? aligned(n_) : 0); }
  // Writes values at `to`, and codes behind them.
  void operator()(const u8* codes, const float* scale_inv, std::byte* to) const {
    if (turns_) {
      u8* back = reinterpret_cast<u8*>(to) + aligned(n_ * i64(sizeof(float)));
      for (i64 at = 0; at < n_; at += rows_ * columns_) transpose_codes(codes + at, rows_, columns_, back + at);
      codes = back;
    }
    decoder_.run(codes, scale_inv, reinterpret_cast<float*>(to));
  }

 private:
  i64 n_, rows_ = 0, columns_ = 0;
  bool turns_;
  Decoder<float> decoder_;
};

}  // namespace

Kernel prepare(const QuantizedGroupedProduct& op, const KernelContext& context) {
  std::vector<Type> ins = {context.ins[0], context.ins[2], context.ins[4]};
  for (int i = 0; i < 2; ++i) {
    if (const Turn turn = op.turn(i); turn.split) ins[size_t(i)] = turned_back(ins[size_t(i)], turn);
    ins[size_t(i)].dtype = DType::f32;
  }
  if (op.accumulate) ins.push_back(context.ins[5]);
  const KernelContext plain{context.mesh, context.coord, ins, context.outs, context.ranks, context.tag};
  const Kernel product = prepare(op.of_values(), plain);
  const Operand x(op.x_format, context.in_shape(0), op.turn(0)), w(op.w_format, context.in_shape(2), op.turn(1));
  return {x.bytes() + w.bytes() + product.workspace, [=, adds = op.accumulate](const Args& a) {
            std::byte *x_at = a.workspace, *w_at = x_at + x.bytes(), *rest = w_at + w.bytes();
            x(a.in<u8>(0), a.in<float>(1), x_at);
            w(a.in<u8>(2), a.in<float>(3), w_at);
            const std::array<std::byte*, 4> operands = {x_at, w_at, a.ins[4], adds ? a.ins[5] : nullptr};
            product.run({std::span(operands).first(adds ? 4 : 3), a.outs, rest, a.first_micro_batch});
          }};
}

}  // namespace megalith::cpu
