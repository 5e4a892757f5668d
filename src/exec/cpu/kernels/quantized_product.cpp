// Kernel of QuantizedProduct. It decodes both operands into the workspace, in f32 (f64 for f64 results), then runs
// Einsum's kernel. Before that it transposes transposed codes back, so the sums are bitwise the same.
#include <array>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/code_transpose.h"
#include "exec/cpu/kernels/decode.h"

namespace megalith::cpu {
namespace {

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
