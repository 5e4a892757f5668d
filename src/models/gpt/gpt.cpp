#include "models/gpt/gpt.h"

#include <cmath>

#include "models/blocks/router.h"
#include "ops/add.h"
#include "ops/cross_entropy.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {

namespace {

double rounded(double x, DType dtype) {
  return dtype == DType::bf16 ? double(float(bf16(float(x)))) : dtype == DType::f32 ? double(float(x)) : x;
}

class GptBuilder {
 public:
  GptBuilder(Parts parts, const ModelPiece& piece)
      : p_(std::move(parts)),
        b_(p_.b),
        c_(p_.config),
        piece_(piece),
        first_(piece.first == 0),
        last_(piece.last == c_.num_layers + 2),
        mixtures_(c_.moe.pattern(c_.num_layers)) {}

  Built build_decoder() {
    p_.length = b_.leaf({"length", {DType::i32, {}, whole(0)}});
    const Value table = word_embeddings(false);
    Value x = embed(table);
    for (i64 i = 0; i < c_.num_layers; ++i) x = layer(i, x);
    p_.out.outputs["logits"] = logits(x, table);
    return std::move(p_.out);
  }

  Built build() {
    p_.rows = b_.leaf({"rows" + p_.suffix, {DType::i64, {p_.mode.batch}, {{{{groups::data}}}, {}, {}, {}}}});
    Value table;
    if (first_ || (last_ && !c_.untie_embeddings_and_output_weights)) table = word_embeddings(first_ != last_);
    Value x = first_ ? embed(table) : received();
    const i64 begin = std::max(piece_.first - 1, 0), end = std::min<i64>(piece_.last - 1, c_.num_layers);
    for (i64 i = begin; i < end; ++i) x = layer(i, x);
    if (!first_ && !last_ && begin == end) x = b_.add1(Scale{3, 1}, {x});  // passed on
    if (last_)
      loss(x, table);
    else
      p_.out.output = x;
    add_router_terms(p_);
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
    if (c_.scale_embedding)
      x = b_.add1(Scale{3, rounded(std::sqrt(double(c_.hidden_size)), p_.mode.precision.activations)}, {x});
    if (c_.position_embedding_type == PositionEmbedding::learned_absolute) {
      const i64 rows = c_.max_position_embeddings;
      const Value positions =
          p_.add_parameter(p_.declare("embedding.position_embeddings.weight", {rows, c_.hidden_size}, kOnStream,
                                      initial_of_table(c_, rows), ParameterKind::positions));
      Value ids = p_.data("position_ids", DType::i32);
      if (p_.style.sequence_parallel) ids = b_.relayout(ids, groups::tensor, split(0));
      x = add(b_, "sbh,sbh->sbh", x, b_.add1(Embedding{}, {ids, positions}));
    }
    x = p_.cast(x, p_.mode.precision.residual);
    if (c_.embedding_layernorm) x = p_.cast(p_.norm("embedding.layernorm", x), p_.mode.precision.residual);
    return p_.dropout("embedding", x);
  }

  // The residual stream as the stage before sends it.
  Value received() {
    Layout l{{{{groups::context, p_.style.cp_order}}, {{groups::data}}, {}}, {}, {}, {}};
    if (p_.style.sequence_parallel) l.dims[0].add({groups::tensor});
    const Type type{p_.mode.precision.residual, {p_.seq, p_.mode.batch, c_.hidden_size}, l};
    return p_.out.input = b_.leaf({"in" + p_.suffix, type, Role::input, true});
  }

  // What a block reads, and what it gives to the stream: a norm stands at one of the two places.
  Value read(const std::string& norm, Value x) {
    return p_.enter(c_.norm_block_output ? p_.cast(x, p_.mode.precision.activations) : p_.norm(norm, x));
  }
  Value give(const std::string& norm, Value x, Value y, const std::string& site) {
    return p_.add_to_stream(x, p_.dropout(site, c_.norm_block_output ? p_.norm(norm, y) : y));
  }

  // x + attention(norm(x)), then x + mlp(norm(x)), or a mixture of experts in its place; or both from one x. A bias is
  // added once, after the reduction.
  Value layer(i64 index, Value x) {
    const std::string name = fmt::format("decoder.layers.{}.", index);
    const auto attention_bias = [&](Value y) {
      return p_.biased(name + "self_attention.linear_proj", "sbh,h->sbh", y, {c_.hidden_size}, c_.attention_bias());
    };
    b_.set_origin({"attention", index});
    const Value h = read(name + "input_layernorm", x);
    Value y = attention_block(p_, name + "self_attention.", h);
    if (!c_.parallel_residual) {
      y = attention_bias(p_.leave(y));
      x = give(name + "post_self_attn_layernorm", x, y, name + "attention");
    }
    b_.set_origin({"mlp", index});
    if (!mixtures_.empty() && mixtures_[size_t(index)]) {
      y = moe_block(p_, name + "mlp.", p_.norm(name + "pre_mlp_layernorm", x));
      return give(name + "post_mlp_layernorm", x, y, name + "mlp");
    }
    const bool shared = c_.parallel_residual && c_.parallel_shared_norm;
    const Value z = mlp_block(p_, name + "mlp.", shared ? h : read(name + "pre_mlp_layernorm", x), c_.ffn_hidden_size,
                              c_.mlp_bias());
    y = p_.leave(c_.parallel_residual ? add(b_, "sbh,sbh->sbh", y, z) : z);
    if (c_.parallel_residual) y = attention_bias(y);
    y = p_.biased(name + "mlp.linear_fc2", "sbh,h->sbh", y, {c_.hidden_size}, c_.mlp_bias());
    return give(name + "post_mlp_layernorm", x, y, name + "mlp");
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
    const Value l = p_.out.outputs["logits"] = logits(x, table);
    b_.set_module("loss");
    const DType accum = accum_of(p_.mode.precision.activations);
    const Value labels = p_.data("labels", DType::i32), mask = p_.data("loss_mask", accum);
    constexpr AxisSet tp = groups::tensor;
    const Value m = b_.relayout(b_.add1(VocabMax{c_.vocab_size}, {l}), tp, kSame);
    const Value z = b_.relayout(b_.add1(VocabSums{c_.vocab_size}, {l, labels, m}), tp, kSame);
    const Value sum = einsum(b_, "sb,sb->", b_.add1(CrossEntropy{}, {z}), mask);
    p_.out.terms.push_back({"lm loss", sum, b_.add1(Sum{"sb->", accum}, {mask})});
  }

  Parts p_;
  Builder& b_;
  const ModelConfig& c_;
  const ModelPiece& piece_;
  const bool first_, last_;           // the first has the embedding, the last the head and the loss
  const std::vector<bool> mixtures_;  // of layers; {}: none
};

}  // namespace

std::string Gpt::describe(const ModelPiece& piece) const {
  const i64 first = std::max(piece.first - 1, 0), last = std::min<i64>(piece.last - 1, config_.num_layers) - 1;
  return fmt::format("{}{}{}", piece.first == 0 ? "embedding, " : "",
                     last < first ? "no layers" : fmt::format("layers {} to {}", first, last),
                     piece.last == blocks() ? ", head" : "");
}

std::vector<DataInput> Gpt::inputs() const {
  std::vector<DataInput> out = {{"tokens"}, {"labels"}, {"loss_mask"}, {"position_ids"}, {"document_starts", false},
                                {"rows"}};
  if (!router_terms(config_.moe).empty()) out.push_back({kStepTokens, false});  // evaluation has none
  return out;
}

std::vector<std::string> Gpt::terms() const {
  std::vector<std::string> out = {"lm loss"};
  for (const std::string& name : router_terms(config_.moe)) out.push_back(name);
  return out;
}

Built Gpt::build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const {
  Parts parts{.b = b, .config = config_, .mode = mode, .style = style_};
  parts.suffix = piece.suffix, parts.seq = config_.seq_length;
  parts.position_ids = data_.position_ids, parts.document_starts = data_.document_starts;
  return GptBuilder(std::move(parts), piece).build();
}

Precision precision_of(const ModelConfig& config, DType compute) {
  Precision out = computing_in(compute);
  if (config.fp32_residual_connection) out.residual = accum_of(compute);
  return out;
}

Built build_gpt_decoder(Builder& b, const ModelConfig& config, const DecodeShape& shape, const ParallelStyle& style) {
  const BuildMode mode{.batch = shape.batch, .precision = shape.precision, .dropout = false, .train = false};
  Parts parts{.b = b, .config = config, .mode = mode, .style = style};
  parts.seq = shape.tokens, parts.cache_length = shape.cache_length, parts.position_ids = true;
  const ModelPiece whole{0, int(config.num_layers) + 2};
  return GptBuilder(std::move(parts), whole).build_decoder();
}

}  // namespace megalith
