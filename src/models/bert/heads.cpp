#include "models/bert/heads.h"

#include "models/bert/bert.h"
#include "models/blocks/vocabulary.h"
#include "ops/add.h"
#include "ops/cross_entropy.h"
#include "ops/einsum.h"
#include "ops/reshape.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {
namespace {

// Position 0 of the stream, [s,b,h] -> [b,h], on all ranks that share the sequence. It is computed as a product with
// ones and zeros. So it is a sum over the ranks that split s, one of which has the position. Ranks of cp get copies;
// ranks of tp have equal values.
Value first_position(Parts& p, Value x) {
  Value first = p.data("first_token", accum_of(p.mode.precision.activations));
  if (p.style.sequence_parallel) first = p.b.relayout(first, groups::tensor, split(0));
  Value y = einsum(p.b, "sbh,sb->bh", x, p.cast(first, p.b.type(x).dtype));
  if (p.style.sequence_parallel) y = p.b.relayout(y, groups::tensor, kSame);
  return p.b.relayout(y, groups::context, kCopy);
}

// x [b,k] -> [b,n]. All ranks of tp compute the same.
Value dense(Parts& p, const std::string& name, Value x, i64 n) {
  const i64 k = p.b.type(x).dim(1);
  const Value w = p.matrix(name + ".weight", {n, k}, kOnWhole, initial_of(p.config, p.config.init_method_std, n, k));
  return p.biased(name, "bn,n->bn", einsum(p.b, "bk,nk->bn", x, w), {n}, true, kOnWhole);
}

// [b] -> [b,1], because losses need two dims.
Value column(Parts& p, Value x) { return p.b.add1(Reshape{"(bs)->bs", {{'b', p.mode.batch}, {'s', 1}}, {}}, {x}); }

}  // namespace

Value bert_logits(Parts& p, Value x, Value table) {
  Builder& b = p.b;
  const i64 h = p.config.hidden_size, rows = p.config.padded_vocab_size;
  b.set_module("head");
  const Value w =
      p.matrix("lm_head.dense.weight", {h, h}, kOnStream, initial_of(p.config, p.config.init_method_std, h, h));
  const Value y = p.biased("lm_head.dense", "sbh,h->sbh", einsum(b, "sbk,hk->sbh", x, w), {h}, true);
  const Value z = p.norm("lm_head.layer_norm", activate(b, Act::gelu, y));
  const Value weight = head_weight(p, table);
  Parameter bias = p.declare("output_layer.bias", {rows}, split_along(0), {}, ParameterKind::vector);
  bias.true_rows = p.config.vocab_size;
  b.set_module("head");
  return add(b, "sbv,v->sbv", einsum(b, "sbh,vh->sbv", p.to_tensor_parallel(z), weight),
             p.add_parameter(std::move(bias)));
}

Value binary_logits(Parts& p, Value x) {
  p.b.set_module("binary head");
  const Value pooled = activate(p.b, Act::tanh, dense(p, "pooler.dense", first_position(p, x), p.config.hidden_size));
  const Value y = dense(p, "binary_head", pooled, 2);
  return p.b.add1(Reshape{"(bs)n->bsn", {{'b', p.mode.batch}, {'s', 1}}, {}}, {y});
}

void add_order_loss(Parts& p, Value logits) {
  Builder& b = p.b;
  b.set_module("binary head");
  const DType accum = accum_of(p.mode.precision.activations);
  const Value labels = column(p, p.sequence_data("is_random", DType::i32)),
              counts = p.sequence_data("pair_mask", accum);
  const Value m = b.add1(VocabMax{2}, {logits});
  const Value losses = b.add1(CrossEntropy{}, {b.add1(VocabSums{2}, {logits, labels, m})});
  const Value sum = b.relayout(einsum(b, "sb,sb->", losses, column(p, counts)), groups::context, kPartial);
  LossTerm term{kOrderTerm, sum, b.add1(Sum{"b->", accum}, {counts})};
  // This term's mean is over the N sequences of the step, the first term's over its T tokens. So each sequence gets T /
  // N.
  if (p.mode.train) term.cotangent = b.add1(Scale{0, 1 / double(p.mode.batch)}, {p.step_tokens()});
  p.out.terms.push_back(term);
}

}  // namespace megalith
