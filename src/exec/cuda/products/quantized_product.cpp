// Kernel of QuantizedProduct. With one scale an operand, or with blocks of 128, it is cuBLASLt's product of codes. It
// reads the scales in device memory. Otherwise both operands are decoded into the workspace, and multiplied as values.
#include <algorithm>

#include "exec/cuda/kernel.h"
#include "exec/cuda/products/decode.h"
#include "exec/cuda/products/einsum.h"
#include "exec/cuda/products/gemm.h"
#include "exec/cuda/products/parts.h"
#include "exec/cuda_needs/code_product.h"

namespace megalith::cuda {

namespace {

// i: the index of the codes among the node's inputs. turn: the transposition; boxes and scales have the order before
// it.
DecodeLaunch decode_of(const KernelContext& context, int i, Shape box, Turn turn, DType to) {
  const Shape shape = context.in_shape(i), grid = context.in_shape(i + 1);
  check(shape.size() <= size_t(DecodeLaunch::kMostDims), "[quantized_product] {} dims, at most {} are supported",
        shape.size(), DecodeLaunch::kMostDims);
  std::vector<i64> strides(grid.size());
  i64 stride = 1;
  for (size_t d = grid.size(); d-- > 0; stride *= grid[d]) strides[d] = stride;
  box = turn.of(box), strides = turn.of(strides);
  DecodeLaunch l{context.ins[size_t(i)].dtype, to, count(shape), int(shape.size())};
  for (size_t d = 0; d < shape.size(); ++d) l.size[d] = shape[d], l.box[d] = box[d], l.stride[d] = strides[d];
  return l;
}

Kernel by_values(const QuantizedProduct& op, const KernelContext& context) {
  const DecodedProduct p = decoded_product(op, context);
  const Kernel product = prepare(
      p.product, KernelContext(context.mesh, context.coord, p.ins, p.outs, context.device, context.comms, context.tag));
  const DecodeLaunch x = decode_of(context, 0, op.x_box, op.x_turn(), p.dtype),
                     w = decode_of(context, 2, op.w_box, op.w_turn(), p.dtype);
  const bool adds = op.accumulate || op.plus;
  const auto with_values = [=, inputs = p.ins.size()](const Args& a, const auto& f) {
    const std::array<std::byte*, 3> ins = {a.workspace, a.workspace + p.x_bytes, adds ? a.ins[4] : nullptr};
    const std::array<std::byte*, 1> sums = {ins[1] + p.w_bytes};
    Args inner = a;
    inner.ins = std::span(ins).first(inputs), inner.workspace = sums[0] + p.sums_bytes;
    if (p.rounds()) inner.outs = sums;
    f(inner);
  };
  const auto run = [=, n = count(context.out_shape(0)), y = context.outs[0].dtype,
                    starts = op.accumulate && op.starts](const Args& a) {
    launch(x, a.ins[0], a.in<float>(1), a.workspace, a.stream);
    launch(w, a.ins[2], a.in<float>(3), a.workspace + p.x_bytes, a.stream);
    with_values(a, product.run);
    const std::byte* plus = adds && !(a.first_micro_batch && starts) ? a.ins[4] : nullptr;
    if (p.rounds())
      launch_add_parts(n, 1, reinterpret_cast<const float*>(a.workspace + p.x_bytes + p.w_bytes), plus, a.outs[0], y,
                       a.stream);
  };
  Kernel out{p.x_bytes + p.w_bytes + p.sums_bytes + product.workspace, run};
  if (product.tune) out.tune = [=](const Args& a) { with_values(a, product.tune); };
  return out;
}

// Puts scales into the library's order: in place, or after its workspace.
class Ordered {
 public:
  Ordered(const ScaleOrder& o, i64 at)
      : l_{o.rows, o.columns, o.pitch, o.row_stride, o.column_stride, o.rows / o.parts, o.part_stride},
        at_(at),
        is_there_(o.is_there() || o.rows == 0) {}
  const std::byte* operator()(const std::byte* scale_inv, std::byte* workspace, cudaStream_t stream) const {
    if (is_there_) return scale_inv;
    launch(l_, reinterpret_cast<const float*>(scale_inv), reinterpret_cast<float*>(workspace + at_), stream);
    return workspace + at_;
  }

 private:
  OrderLaunch l_;
  i64 at_;
  bool is_there_;
};

Kernel by_codes(const QuantizedProduct& op, const CodeProduct& product, const std::shared_ptr<Gemm>& gemm) {
  const size_t left = product.swapped ? 2 : 0, right = 2 - left;
  const Ordered x(product.x, gemm->workspace()), w(product.w, gemm->workspace() + product.x.bytes());
  const auto args = [=, adds = op.accumulate, starts = op.starts, plus = op.plus](const Args& a) {
    GemmArgs g{a.ins[left], a.ins[right], a.outs[0]};
    if (plus || (adds && !(a.first_micro_batch && starts))) g.plus = a.ins[4];
    g.a_scale = x(a.ins[1], a.workspace, a.stream), g.b_scale = w(a.ins[3], a.workspace, a.stream);
    if (left == 2) std::swap(g.a_scale, g.b_scale);
    g.workspace = a.workspace, g.stream = a.stream;
    return g;
  };
  const GemmSpec& s = product.problem.spec;
  const auto scales = [](const ScaleOrder& o) { return std::max<i64>(1, o.rows * o.columns); };
  const std::array<i64, 5> counts = {s.m * s.k, s.k * s.n, s.m * s.n, scales(product.x), scales(product.w)};
  const std::array<DType, 3> types = {s.a.dtype, s.b.dtype, s.c.dtype};
  const auto tune = [=, plus = op.plus](Args a) {
    if (!gemm->chosen()) {
      fill_normal(a.ins[left], types[0], counts[0], 1, a.stream);
      fill_normal(a.ins[right], types[1], counts[1], 2, a.stream);
      fill_normal(a.outs[0], types[2], counts[2], 3, a.stream);
      if (plus) fill_normal(a.ins[4], types[2], counts[2], 4, a.stream);
      fill_normal(a.ins[1], DType::f32, counts[3], 5, a.stream);
      fill_normal(a.ins[3], DType::f32, counts[4], 6, a.stream);
    }
    a.first_micro_batch = false;
    gemm->tune(args(a));
  };
  return Kernel{gemm->workspace() + product.x.bytes() + product.w.bytes(), [=](const Args& a) { gemm->run(args(a)); },
                tune};
}

// The product with one scale an operand.
Kernel by_tensors(const QuantizedProduct& op, const KernelContext& context) {
  const std::optional<CodeProduct> product = code_product(op, context);
  if (!product) return {0, [](const Args&) {}};
  const std::shared_ptr<Gemm> gemm = shared_gemm(context.device, product->problem);
  check(gemm->possible(), "[{}] cuBLASLt has no product of fp8 {} on this GPU: train in bf16, or give --device cpu",
        op.name, to_string(product->problem));
  return by_codes(op, *product, gemm);
}

}  // namespace

Kernel prepare(const QuantizedProduct& op, const KernelContext& context) {
  if (has_two_scales(op, context)) return by_tensors(op, context);
  if (const auto product = block_product(op, context))
    if (const std::shared_ptr<Gemm> gemm = shared_gemm(context.device, product->problem); gemm->possible())
      return by_codes(op, *product, gemm);
  return by_values(op, context);
}

}  // namespace megalith::cuda
