#include "exec/cuda_needs/attention_padding.h"

#include <algorithm>

#include "exec/cuda_needs/attention_sizes.h"

namespace megalith::cuda {

namespace {

// `q`: the index of the input q; k and v follow. ins, outs: the tensors whose rows are heads.
std::optional<AttentionPadding> padding(const LocalNode& node, size_t q, const std::vector<int>& ins,
                                        const std::vector<int>& outs) {
  const i64 d = node.ins[q].shape.back(), e = node.ins[q + 2].shape.back();
  if (d == e) return std::nullopt;
  AttentionPadding p{node, std::max(d, e), {}, {}, 0};
  const auto pad = [&](std::vector<Type>& types, int index, std::vector<PaddedTensor>& padded) {
    Type& type = types[size_t(index)];
    const i64 from = type.shape.back();
    if (from == p.size) return;
    const i64 rows = local_type(node.mesh, type).elements() / std::max<i64>(1, from), element = size_of(type.dtype);
    padded.push_back({index, rows, from, element, p.bytes});
    p.bytes += aligned(rows * p.size * element);
    type.shape.back() = p.size;
  };
  for (int i : ins) pad(p.node.ins, i, p.ins);
  for (int i : outs) pad(p.node.outs, i, p.outs);
  return p;
}

}  // namespace

std::optional<AttentionPadding> padding_of(const Attention& op, const LocalNode& node) {
  if (op.at.packed()) return std::nullopt;
  return padding(node, 0, {0, 1, 2}, {0});
}

std::optional<AttentionPadding> padding_of(const AttentionGrad& op, const LocalNode& node) {
  if (op.at.packed()) return std::nullopt;
  return padding(node, 1, {0, 1, 2, 3, 4}, {0, 1, 2});
}

std::optional<AttentionPadding> padding_of(const AttentionPart& op, const LocalNode& node) {
  std::vector<int> ins = {0, 1, 2};
  if (op.continues) ins.push_back(int(node.ins.size()) - 2);  // o of the earlier keys
  return padding(node, 0, ins, {0});
}

std::optional<AttentionPadding> padding_of(const AttentionPartGrad&, const LocalNode& node) {
  return padding(node, 1, {0, 1, 2, 3, 4}, {0, 1, 2});
}

}  // namespace megalith::cuda
