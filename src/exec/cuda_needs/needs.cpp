#include "exec/cuda_needs/needs.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "exec/cuda_needs/attention_node.h"
#include "exec/cuda_needs/attention_padding.h"
#include "exec/cuda_needs/code_product.h"
#include "exec/cuda_needs/code_tiles.h"
#include "exec/cuda_needs/expert_rows_plan.h"
#include "exec/cuda_needs/grouped_fits.h"
#include "exec/cuda_needs/kernel_shapes.h"
#include "exec/cuda_needs/parts_product.h"
#include "exec/cuda_needs/product_pieces.h"
#include "exec/cuda_needs/relayout_boxes.h"
#include "exec/cuda_needs/router_room.h"
#include "exec/cuda_needs/squares.h"
#include "exec/cuda_needs/sum_plan.h"
#include "exec/cuda_needs/vocab_blocks.h"

namespace megalith::cuda {

namespace {

using Way = AttentionChoice::Way;

struct Asked {
  const LocalNode& node;
  const LibraryNeeds& library;
};

// Most kernels need no workspace.
struct Nothing {
  operator i64() const { return 0; }  // NOLINT: a number of bytes
};
template <class T>
Nothing bytes(const T&, const Asked&) {
  return {};
}

i64 bytes(const Einsum& op, const Asked& a) {
  const EinsumPlan plan = plan_einsum(operands_of(op, a.node));
  if (plan.kind != EinsumPlan::kGemm) return 0;
  const auto problem = product_of(op, plan, a.node);
  if (!problem) return 0;
  if (const auto parts = parts_product(*problem)) return parts->bytes() + a.library.product(parts->product).value_or(0);
  return is_library_kind(*problem) ? a.library.product(*problem).value_or(0) : 0;
}

i64 bytes(const QuantizedProduct& op, const Asked& a) {
  if (!has_two_scales(op, a.node)) {
    if (const auto p = block_product(op, a.node))
      if (const auto own = a.library.product(p->problem)) return p->x.bytes() + p->w.bytes() + *own;
    const DecodedProduct p = decoded_product(op, a.node);
    return p.x_bytes + p.w_bytes + p.sums_bytes +
           bytes(p.product, {{a.node.mesh, a.node.coord, p.ins, p.outs, a.node.gpu}, a.library});
  }
  const auto product = code_product(op, a.node);
  return product ? a.library.product(product->problem).value_or(0) : 0;
}

i64 sum_bytes(const Sum& op, const LocalNode& node) {
  const SumLoops loops = loops_of(op, node);
  if (loops.summed.empty()) return 0;
  const SumLaunch l = plan_sum(node.ins[0].dtype, node.outs[0].dtype, loops);
  return fits_hopper(l, node.gpu.capability) ? 0 : l.workspace();
}
i64 bytes(const Sum& op, const Asked& a) { return sum_bytes(op, a.node); }

// The workspace of then_sum(): of the sum over rows of the gradient's first result, as result number `bias`.
i64 sum_behind(const LocalNode& node, const std::string& letters, int bias) {
  const Type &dx = node.outs[0], &to = node.outs[size_t(bias)];
  return sum_bytes(Sum{letters + "->" + letters.back(), to.dtype}, {node.mesh, node.coord, {dx}, {to}, node.gpu});
}

i64 bytes(const ActivateGrad& op, const Asked& a) {
  if (!op.bias) return 0;
  const int bias = op.with_output ? 2 : 1;
  const Shape dx = a.node.out_shape(0);
  const i64 columns = dx.back(), rows = columns == 0 ? 0 : count(dx) / columns;
  const SumLaunch sums = column_sums(a.node.ins[1].dtype, a.node.outs[size_t(bias)].dtype, rows, columns);
  return adds_on_the_way(sums, rows, columns) ? sums.workspace() : sum_behind(a.node, letters(op.ndim), bias);
}

template <class Gradient>
i64 norm_bytes(const Gradient& op, const Asked& a, bool centred) {
  const NormShape s = norm_shape(op.name, a.node, 1, centred);
  const NormDevice device = norm_device(a.node);
  const bool apart = op.bias && !adds_up_bias(s, device);
  const int sums = 1 + centred + (op.bias && !apart);
  const NormRing ring = norm_ring(s, device);
  const NormBlock block = norm_grad_block(s, device);
  if (ring.packs == 0) a.library.bounded(op.name);
  const int blocks = ring.packs > 0 ? norm_ring_blocks(s, ring, device)
                                    : norm_blocks(block, enough_norm_blocks(block), device, s.rows);
  const i64 own = norm_grad_workspace(s, sums, blocks);
  return apart ? std::max(own, sum_behind(a.node, op.x, (centred ? 3 : 2) + op.with_output)) : own;
}
i64 bytes(const RmsNormGrad& op, const Asked& a) { return norm_bytes(op, a, false); }
i64 bytes(const LayerNormGrad& op, const Asked& a) { return norm_bytes(op, a, true); }

i64 own_bytes(const Attention& op, const Asked& a) {
  const Form f(op.at, a.node, 0, a.node.outs[0]);
  const i64 own = attention_workspace(sizes_of(f));
  if (choose_attention(case_of(f, false)).way != Way::cudnn) return own;
  const i64 inputs = ends_bytes(f) + biases_bytes(f) + stats_bytes(f);
  if (f.is_cut()) return inputs + kForwardPlanBytes;
  i64 most = 0;
  for (const CudnnAttention& problem : run_problems(f)) {
    const std::optional<i64> plan = a.library.attention(problem);
    if (!plan) return own;
    most = std::max(most, *plan);
  }
  return inputs + most;
}

i64 own_bytes(const AttentionGrad& op, const Asked& a) {
  const Form f(op.at, a.node, 1, a.node.ins[0]);
  const Way way = choose_attention(case_of(f, true)).way;
  if (way == Way::cudnn) {
    const CudnnAttention part = grad_part(f);
    const std::optional<i64> plan = a.library.attention(part);
    if (plan && *plan <= a.node.gpu.memory / kMostShare)
      return ends_bytes(f) + grad_runs(problem_of(f), part) * grad_stats_bytes(part) + *plan;
  }
  return grad_need(way == Way::hopper ? way : Way::own, sizes_of(f), f.places());
}

i64 own_bytes(const AttentionPart& op, const Asked& a) {
  const Form f(op.at, a.node, 0, a.node.outs[0]);
  return part_need(case_of(f, false), sizes_of(f), f.places());
}

i64 own_bytes(const AttentionPartGrad& op, const Asked& a) {
  const Form f(op.at, a.node, 1, a.node.ins[0]);
  return part_need(case_of(f, true), sizes_of(f), f.places());
}

// If values have another size: the workspace of the kernel for equal sizes, and the copies.
template <class T>
i64 padded_bytes(const T& op, const Asked& a) {
  const auto padding = padding_of(op, a.node);
  return padding ? padding->bytes + own_bytes(op, {padding->node, a.library}) : own_bytes(op, a);
}
i64 bytes(const Attention& op, const Asked& a) { return padded_bytes(op, a); }
i64 bytes(const AttentionGrad& op, const Asked& a) { return padded_bytes(op, a); }
i64 bytes(const AttentionPart& op, const Asked& a) { return padded_bytes(op, a); }
i64 bytes(const AttentionPartGrad& op, const Asked& a) { return padded_bytes(op, a); }

i64 bytes(const CachedAttention& op, const Asked& a) {
  const Shape q = a.node.in_shape(0), k = a.node.in_shape(1);
  const i64 biases = q[2] * q[3] * relative_buckets(op.at, k[0] - 1).distances();
  return cached_attention_workspace(q[0] * q[1] * q[2] * q[3], k[0], q[4]) + biases * i64(sizeof(float));
}

i64 bytes(const EmbeddingGrad&, const Asked& a) {
  return list_sizes(embedding_shape(a.node, 1, 2), embedding_chunk(a.node.outs[0].dtype)).all();
}

i64 bytes(const ExpertParts&, const Asked& a) {
  const Shape choice = a.node.in_shape(0);
  return expert_parts_workspace(choice[0] * choice[1]);
}

i64 bytes(const ExpertRows&, const Asked& a) {
  return expert_rows_workspace(count(a.node.in_shape(0)), a.node.out_shape(0)[1]);
}

i64 bytes(const GroupedProduct& op, const Asked& a) { return grouped_fits(op, a.node) ? kGroupedWorkspace : 0; }
i64 bytes(const QuantizedGroupedProduct& op, const Asked& a) {
  return grouped_fits(op, a.node) ? kGroupedWorkspace : 0;
}

i64 bytes(const VocabLoss&, const Asked& a) {
  const Shape x = a.node.in_shape(1);
  const i64 rows = x[0] * x[1];
  return vocab_loss_blocks(a.node.ins[1].dtype, rows, x[2], a.node.gpu.capability) > 0 ? 0 : vocab_loss_workspace(rows);
}

i64 bytes(const ExpertCapacity& op, const Asked& a) {
  const Shape p = a.node.in_shape(0);
  return expert_lists_bytes(p[0] * p[1], op.experts);
}

i64 bytes(const Sinkhorn&, const Asked& a) {
  const Shape z = a.node.in_shape(0);
  return sinkhorn_bytes(z[0] * z[1]);
}

i64 bytes(const Relayout& op, const Asked& a) { return RelayoutBoxes(op, a.node).workspace; }

i64 bytes(const OverlappedProduct& op, const Asked& a) {
  const ProductPieces p(op, a.node);
  if (p.possible()) return after_piece(needed_workspace(p.product, p.piece_of(a.node), a.library)) + p.boxes.workspace;
  const auto separate = [&](size_t k) { return needed_workspace(p.separate[k].op, p.node_of(k, a.node), a.library); };
  return std::max(separate(0), separate(1));
}

i64 bytes(const SumSquares& op, const Asked& a) {
  const i64 partials =
      op.marks ? marked_squares_partials(a.node.in_shape(0)[0]) : squares_partials(count(a.node.in_shape(0)));
  return partials * i64(sizeof(double));
}

i64 bytes(const CountNonzeros&, const Asked& a) {
  return squares_partials(count(a.node.in_shape(0))) * i64(sizeof(double));
}

i64 bytes(const MultiSumSquares&, const Asked& a) {
  i64 partials = 0;
  for (int i = 0; i < int(a.node.ins.size()); ++i) partials += squares_partials(count(a.node.in_shape(i)));
  return partials * i64(sizeof(double));
}

i64 bytes(const Quantize& op, const Asked& a) { return quantize_workspace(op, a.node); }

i64 bytes(const Normalize&, const Asked& a) {
  const Shape x = a.node.in_shape(0);
  return x[0] > 0 ? stacked_partials(x[0], count(x) / x[0]) * i64(sizeof(double)) : 0;
}

template <class T>
constexpr bool needs_any() {
  return !std::is_same_v<decltype(bytes(std::declval<const T&>(), std::declval<const Asked&>())), Nothing>;
}

}  // namespace

bool may_need_workspace(const AnyOp& op) {
#define OP(T) \
  if (op.get_if<T>()) return needs_any<T>();
#include "ops/ops.def"
#undef OP
  return true;
}

i64 needed_workspace(const AnyOp& op, const LocalNode& node, const LibraryNeeds& library) {
#define OP(T) \
  if (const T* it = op.get_if<T>()) return bytes(*it, Asked{node, library});
#include "ops/ops.def"
#undef OP
  fail("[{}] has no CUDA kernel", op.name());
}

}  // namespace megalith::cuda
