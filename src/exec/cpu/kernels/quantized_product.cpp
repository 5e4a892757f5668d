// Kernel of QuantizedProduct. It decodes both operands into the workspace, in f32 (f64 for f64 results), then runs
// Einsum's kernel. Before that it transposes transposed codes back, so the sums are bitwise the same.
#include <array>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/box_rows.h"
#include "exec/cpu/kernels/code_transpose.h"
#include "exec/cpu/kernels/strided.h"
#include "quant/small_float.h"

namespace megalith::cpu {
namespace {

std::array<float, 256> values_of(CodeFormat f) {
  std::array<float, 256> out;
  for (u32 code = 0; code < 256; ++code)
    out[code] = f == CodeFormat::e4m3   ? quant::E4M3::decode(code)
                : f == CodeFormat::e5m2 ? quant::E5M2::decode(code)
                                        : quant::E2M1::decode(code & 0xf);
  return out;
}

// Decodes codes with scale_inv to values.
template <class V>
class Decoder {
 public:
  Decoder(CodeFormat format, const Shape& shape, const Shape& box) : values_(values_of(format)), rows_(shape, box) {}

  void run(const u8* codes, const float* scale_inv, V* out) const {
    if (rows_.boxes() == 1)
      return parallel_blocks(rows_.elements(), [&](i64 b, i64 e) { decode(codes + b, e - b, *scale_inv, out + b); });
    parallel_for(rows_.bands(), 1, [&](i64 i) {
      const float* scales = scale_inv + i * rows_.width();
      rows_.for_rows(i, [&](i64 at) {
        rows_.for_columns([&](i64 k, i64 b, i64 e) { decode(codes + at + b, e - b, scales[k], out + at + b); });
      });
    });
  }

 private:
  void decode(const u8* codes, i64 n, float scale_inv, V* out) const {
    for (i64 i = 0; i < n; ++i) out[i] = V(values_[codes[i]]) * V(scale_inv);
  }

  std::array<float, 256> values_;
  BoxRows rows_;
};

constexpr i64 aligned(i64 bytes) { return (bytes + 63) / 64 * 64; }

// Puts an operand's codes in the order of its boxes and scales.
class Order {
 public:
  Order(const Type& codes, const Shape& local, Turn turn)
      : type(turned_back(codes, turn)),
        columns_(matrix_of(local, int(local.size()) - turn.split)),
        parts_(turn.by_sequence ? local.back() : 1),
        turns_(turn.split > 0) {}

  const Type type;
  i64 workspace() const { return turns_ ? aligned(columns_.first * columns_.second) : 0; }
  const u8* operator()(const u8* codes, std::byte* workspace) const {
    if (!turns_) return codes;
    u8* out = reinterpret_cast<u8*>(workspace);
    transpose_codes(codes, columns_.first, columns_.second, out, 1, parts_);
    return out;
  }

 private:
  std::pair<i64, i64> columns_;  // rows and columns of the transpose
  i64 parts_;                    // parts of the columns: consecutive tokens of a sequence
  bool turns_;
};

template <class V>
Kernel decoded(const QuantizedProduct& op, const KernelContext& context) {
  constexpr DType dtype = dtype_of<V>::value;
  const Order x_order(context.ins[0], context.in_shape(0), op.x_turn()),
      w_order(context.ins[2], context.in_shape(2), op.w_turn());
  std::vector<Type> ins = {x_order.type, w_order.type};
  ins[0].dtype = ins[1].dtype = dtype;
  const bool adds = op.accumulate || op.plus;
  if (adds) ins.push_back(context.ins[4]);
  const KernelContext plain{context.mesh, context.coord, ins, context.outs, context.ranks, context.tag};
  const Kernel product = prepare(Einsum{op.spec_before(), op.dtype, op.accumulate, op.starts, op.plus}, plain);
  const Decoder<V> x(op.x_format, plain.in_shape(0), op.x_box), w(op.w_format, plain.in_shape(1), op.w_box);
  const i64 x_bytes = aligned(count(context.in_shape(0)) * i64(sizeof(V))),
            w_bytes = aligned(count(context.in_shape(2)) * i64(sizeof(V)));
  const i64 behind = std::max({product.workspace, x_order.workspace(), w_order.workspace()});
  return {x_bytes + w_bytes + behind, [=](const Args& a) {
            std::byte *x_at = a.workspace, *w_at = x_at + x_bytes, *rest = w_at + w_bytes;
            x.run(x_order(a.in<u8>(0), rest), a.in<float>(1), reinterpret_cast<V*>(x_at));
            w.run(w_order(a.in<u8>(2), rest), a.in<float>(3), reinterpret_cast<V*>(w_at));
            const std::array<std::byte*, 3> operands = {x_at, w_at, adds ? a.ins[4] : nullptr};
            product.run({std::span(operands).first(adds ? 3 : 2), a.outs, rest, a.first_micro_batch});
          }};
}

}  // namespace

Kernel prepare(const QuantizedProduct& op, const KernelContext& context) {
  return op.dtype == DType::f64 ? decoded<double>(op, context) : decoded<float>(op, context);
}

}  // namespace megalith::cpu
