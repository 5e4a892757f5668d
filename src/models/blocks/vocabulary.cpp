#include "models/blocks/vocabulary.h"

#include "ops/cross_entropy.h"

namespace megalith {

Value word_embeddings(Parts& parts, const std::vector<int>& blocks) {
  const ModelConfig& c = parts.config;
  const i64 rows = c.padded_vocab_size;
  Parameter p = parts.declare("embedding.word_embeddings.weight", {rows, c.hidden_size}, split_along(0),
                              initial_of_table(c, rows), ParameterKind::embedding);
  p.true_rows = c.vocab_size;
  p.blocks = blocks;
  return parts.add_parameter(std::move(p));
}

Value head_weight(Parts& parts, Value table) {
  const ModelConfig& c = parts.config;
  if (!c.untie_embeddings_and_output_weights) return table;
  const i64 rows = c.padded_vocab_size, h = c.hidden_size;
  Parameter p = parts.declare("output_layer.weight", {rows, h}, split_along(0),
                              initial_of(c, c.init_method_std, rows, h), ParameterKind::output);
  p.true_rows = c.vocab_size;
  return parts.add_parameter(std::move(p));
}

Value vocabulary_losses(Parts& p, Value logits, Value labels) {
  Builder& b = p.b;
  b.set_module("loss");
  constexpr AxisSet tp = groups::tensor;
  const i64 vocab = p.config.vocab_size;
  const Value m = b.relayout(b.add1(VocabMax{vocab}, {logits}), tp, kSame);
  return b.add1(CrossEntropy{}, {b.relayout(b.add1(VocabSums{vocab}, {logits, labels, m}), tp, kSame)});
}

}  // namespace megalith
