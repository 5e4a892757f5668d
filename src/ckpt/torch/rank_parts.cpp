#include "ckpt/torch/rank_parts.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {
namespace {

// The axis that tensor parallelism splits; -1: none. Down projections of latents are not split in transformer-engine's
// layers.
int cut_axis(const std::string& name) {
  for (const char* end : {".word_embeddings.weight", "output_layer.weight", ".linear_qkv.weight", ".linear_qkv.bias",
                          ".linear_fc1.weight", ".linear_fc1.bias", ".eh_proj.weight", ".linear_q_proj.weight",
                          ".linear_q_up_proj.weight", ".linear_kv_up_proj.weight", ".linear_q.weight", ".linear_q.bias",
                          ".linear_kv.weight", ".linear_kv.bias", "output_layer.bias"})
    if (name.ends_with(end)) return 0;
  return name.ends_with(".linear_proj.weight") || name.ends_with(".linear_fc2.weight") ? 1 : -1;
}

}  // namespace

RankParts::RankParts(const std::string& name, i64 ranks, bool gated)
    : ranks_(ranks),
      axis_(ranks == 1 ? -1 : cut_axis(name)),
      halves_(gated && axis_ == 0 && name.find(".linear_fc1.") != std::string::npos) {}

Shape RankParts::whole(const Shape& part, const std::string& what) const {
  Shape shape = part;
  if (!is_cut()) return shape;
  const auto a = std::size_t(axis_);
  check(a < shape.size(), "{} has shape {}", what, to_string(part));
  check(!halves_ || shape[a] % 2 == 0, "{} has {} rows: want gates and as many ups", what, shape[a]);
  shape[a] *= ranks_;
  return shape;
}

Shape RankParts::part(const Shape& whole, const std::string& what) const {
  Shape shape = whole;
  if (!is_cut()) return shape;
  const auto a = std::size_t(axis_);
  const i64 pieces = ranks_ * (halves_ ? 2 : 1);
  check(a < shape.size() && shape[a] % pieces == 0, "{} of shape {} can't be cut into {} pieces", what,
        to_string(whole), pieces);
  shape[a] /= ranks_;
  return shape;
}

void RankParts::place(const StoredBox& box, i64 rank, const Shape& part, i64 element,
                      std::vector<StoredBox>& out) const {
  if (!is_cut()) return out.push_back(box);
  const auto a = std::size_t(axis_);
  const i64 rows = part[a], half = halves_ ? rows / 2 : rows;
  const i64 begin = box.offset[a], end = begin + box.shape[a];
  for (i64 k = 0; k < rows / half; ++k) {
    const i64 first = std::max(begin, k * half), last = std::min(end, (k + 1) * half);
    if (first >= last) continue;
    StoredBox piece = box;
    piece.offset[a] = k * half * ranks_ + rank * half + (first - k * half);
    piece.shape[a] = last - first;
    piece.position += (first - begin) * box.strides[a] * element;
    out.push_back(std::move(piece));
  }
}

}  // namespace megalith
