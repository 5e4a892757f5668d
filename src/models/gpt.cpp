#include "models/gpt.h"

#include "models/blocks/parts.h"
#include "ops/add.h"
#include "ops/cross_entropy.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {

namespace {

class GptBuilder {
 public:
  GptBuilder(Builder& b, const ModelConfig& c, const GptShape& shape, const ParallelStyle& style)
      : p_{b, c, shape, style, shape.piece.value_or(GptPiece{0, c.num_layers}), shape.seq ? shape.seq : c.seq_length},
        b_(b),
        c_(c) {}

  Gpt build_decoder(i64 cache_length) {
    p_.cache_length = cache_length;
    p_.length = b_.leaf({"length", {DType::i32, {}, whole(0)}});
    const Value table = word_embeddings(false);
    Value x = embed(table);
    for (i64 i = 0; i < c_.num_layers; ++i) x = layer(i, x);
    p_.out.logits = logits(x, table);
    return std::move(p_.out);
  }

  Gpt build() {
    const GptPiece& piece = p_.piece;
    const bool first = piece.first, last = piece.last;
    p_.rows = b_.leaf({"rows" + piece.suffix, {DType::i64, {p_.shape.batch}, {{{{Axis::dp}}}, {}, {}, {}}}});
    Value table;
    if (first || (last && !c_.untie_embeddings_and_output_weights)) table = word_embeddings(first != last);
    Value x = first ? embed(table) : received();
    for (i64 i = piece.first_layer; i < piece.last_layer; ++i) x = layer(i, x);
    if (!first && !last && piece.first_layer == piece.last_layer) x = b_.add1(Scale{3, 1}, {x});  // passed on
    if (last)
      loss(x, table);
    else
      p_.out.output = x;
    return std::move(p_.out);
  }

 private:
  // `one_of_two`: another stage holds it too, as the head's weight.
  Value word_embeddings(bool one_of_two) {
    const i64 rows = c_.padded_vocab_size;
    Parameter p = p_.declare("embedding.word_embeddings.weight", {rows, c_.hidden_size}, split_along(0),
                             initial_of_table(c_, rows), ParameterKind::embedding);
    p.true_rows = c_.vocab_size;
    p.tied = one_of_two && !c_.untie_embeddings_and_output_weights;
    return p_.add_parameter(std::move(p));
  }

  Value embed(Value table) {
    b_.set_module("embedding");
    Value x = p_.leave(b_.add1(Embedding{}, {p_.data("tokens", DType::i32), table}));
    if (c_.position_embedding_type == PositionEmbedding::learned_absolute) {
      const i64 rows = c_.max_position_embeddings;
      const Value positions =
          p_.add_parameter(p_.declare("embedding.position_embeddings.weight", {rows, c_.hidden_size}, kOnStream,
                                      initial_of_table(c_, rows), ParameterKind::positions));
      Value ids = p_.data("position_ids", DType::i32);
      if (p_.style.sequence_parallel) ids = b_.relayout(ids, tensor_parallel_axes(), split(0));
      x = add(b_, "sbh,sbh->sbh", x, b_.add1(Embedding{}, {ids, positions}));
    }
    x = p_.cast(x, p_.stream_dtype());
    if (c_.embedding_layernorm) x = p_.cast(p_.norm("embedding.layernorm", x), p_.stream_dtype());
    return p_.dropout("embedding", x);
  }

  // The residual stream as the stage before sends it.
  Value received() {
    Layout l{{{{Axis::cp, p_.style.cp_order}}, {{Axis::dp}}, {}}, {}, {}, {}};
    if (p_.style.sequence_parallel)
      for (Axis a : tensor_parallel_axes()) l.dims[0].push_back({a});
    const Type type{p_.stream_dtype(), {p_.seq, p_.shape.batch, c_.hidden_size}, l};
    return p_.out.input = b_.leaf({"in" + p_.piece.suffix, type, Role::input, true});
  }

  // x + attention(norm(x)), then x + mlp(norm(x)); or both from one x. A bias is added once, after the reduction.
  Value layer(i64 index, Value x) {
    const std::string name = fmt::format("decoder.layers.{}.", index);
    const auto attention_bias = [&](Value y) {
      return p_.biased(name + "self_attention.linear_proj", "sbh,h->sbh", y, {c_.hidden_size}, c_.attention_bias());
    };
    b_.set_origin({"attention", index});
    const Value h = p_.enter(p_.norm(name + "input_layernorm", x));
    Value y = gpt_attention(p_, name + "self_attention.", h);
    if (!c_.parallel_residual) {
      y = attention_bias(p_.leave(y));
      x = p_.add_to_stream(x, p_.dropout(name + "attention", y));
    }
    b_.set_origin({"mlp", index});
    const bool shared = c_.parallel_residual && c_.parallel_shared_norm;
    const Value z = gpt_mlp(p_, name + "mlp.", shared ? h : p_.enter(p_.norm(name + "pre_mlp_layernorm", x)));
    y = p_.leave(c_.parallel_residual ? add(b_, "sbh,sbh->sbh", y, z) : z);
    if (c_.parallel_residual) y = attention_bias(y);
    y = p_.biased(name + "mlp.linear_fc2", "sbh,h->sbh", y, {c_.hidden_size}, c_.mlp_bias());
    return p_.add_to_stream(x, p_.dropout(name + "mlp", y));
  }

  Value logits(Value x, Value table) {
    b_.set_module("head");
    const Value y = p_.enter(p_.norm("decoder.final_layernorm", x));
    if (c_.untie_embeddings_and_output_weights) {
      const i64 rows = c_.padded_vocab_size, h = c_.hidden_size;
      Parameter p = p_.declare("output_layer.weight", {rows, h}, split_along(0),
                               initial_of(c_, c_.init_method_std, rows, h), ParameterKind::output);
      p.true_rows = c_.vocab_size;
      table = p_.add_parameter(std::move(p));
    }
    return einsum(b_, "sbh,vh->sbv", y, table);
  }

  void loss(Value x, Value table) {
    const Value l = p_.out.logits = logits(x, table);
    b_.set_module("loss");
    const DType accum = accum_of(p_.shape.dtype);
    const Value labels = p_.data("labels", DType::i32), mask = p_.data("loss_mask", accum);
    const auto& tp = tensor_parallel_axes();
    const Value m = b_.relayout(b_.add1(VocabMax{c_.vocab_size}, {l}), tp, kSame);
    const Value z = b_.relayout(b_.add1(VocabSums{c_.vocab_size}, {l, labels, m}), tp, kSame);
    p_.out.loss = einsum(b_, "sb,sb->", b_.add1(CrossEntropy{}, {z}), mask);
    p_.out.tokens = b_.add1(Sum{"sb->", accum}, {mask});
  }

  GptParts p_;
  Builder& b_;
  const ModelConfig& c_;
};

}  // namespace

Gpt build_gpt_decoder(Builder& b, const ModelConfig& config, const DecodeShape& shape, const ParallelStyle& style) {
  GptShape s;
  s.batch = shape.batch, s.seq = shape.tokens, s.dtype = shape.dtype;
  s.position_ids = true, s.dropout = false;
  return GptBuilder(b, config, s, style).build_decoder(shape.cache_length);
}

Gpt build_gpt(Builder& b, const ModelConfig& config, const GptShape& shape, const ParallelStyle& style) {
  return GptBuilder(b, config, shape, style).build();
}

}  // namespace megalith
