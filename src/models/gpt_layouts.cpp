#include "models/gpt_layouts.h"

namespace megalith {

namespace {

struct Row {
  std::string_view suffix;
  int dim;  // split over `by`
  std::vector<Axis> by;
  int tr_dim = -1;  // split over tr, when `by` is tk alone
};

// What is not in the table is small and meets the residual stream: whole on every rank.
const std::vector<Row>& table(bool gated) {
  static const std::vector<Axis> tp = {Axis::tk, Axis::tr}, tk = {Axis::tk};
  auto rows = [](int fc1_dim) {
    return std::vector<Row>{
        {"word_embeddings.weight", 0, tp},  {"output_layer.weight", 0, tp}, {"linear_q.weight", 0, tk, 1},  // [g,r,d,h]
        {"linear_q.bias", 0, tk, 1},                                                                        // [g,r,d]
        {"linear_k.weight", 0, tk},  // [g,d,h]: Copy over tr, whose ranks share a group
        {"linear_k.bias", 0, tk},           {"linear_v.weight", 0, tk},     {"linear_v.bias", 0, tk},
        {"linear_proj.weight", 1, tk, 2},                                  // [h,g,r,d]
        {"linear_fc1.weight", fc1_dim, tp},                                // [f,h] or [2,f,h]
        {"linear_fc1.bias", fc1_dim, tp},   {"linear_fc2.weight", 1, tp},  // [h,f]
    };
  };
  static const std::vector<Row> plain = rows(0), with_gate = rows(1);
  return gated ? with_gate : plain;
}

}  // namespace

Layout gpt_layout(std::string_view name, int ndim, const ModelConfig& config, const ParallelStyle& style) {
  Layout l = whole(ndim);
  l.copy = {Axis::dp, Axis::cp};
  for (const Row& row : table(config.gated())) {
    if (!name.ends_with(row.suffix)) continue;
    for (Axis a : row.by) l.dims[row.dim].push_back({a});
    if (row.tr_dim >= 0) l.dims[row.tr_dim].push_back({Axis::tr});
    if (l.state(Axis::tr) == kSame) l.copy.insert(Axis::tr);
    return l;
  }
  const bool per_head = name.ends_with("q_layernorm.weight") || name.ends_with("k_layernorm.weight");
  const bool packed = name.find("linear_qkv.") != std::string_view::npos;
  if (style.sequence_parallel || per_head || packed)  // each rank applies it to its own part
    for (Axis a : tensor_parallel_axes()) l.copy.insert(a);
  return l;
}

}  // namespace megalith
