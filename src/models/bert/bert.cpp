#include "models/bert/bert.h"

#include <numeric>

#include "models/bert/heads.h"
#include "models/blocks/vocabulary.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {

namespace {

class BertBuilder {
 public:
  BertBuilder(Parts parts, const ModelPiece& piece)
      : p_(std::move(parts)),
        b_(p_.b),
        c_(p_.config),
        piece_(piece),
        first_(piece.first == 0),
        last_(piece.last == c_.num_layers + 2) {}

  Built build() {
    p_.rows = p_.sequence_data("rows", DType::i64);
    p_.lengths = p_.sequence_data("lengths", DType::i32);
    Value table;
    const bool tied = !c_.untie_embeddings_and_output_weights;
    const std::vector<int> ends = {0, int(c_.num_layers) + 1};  // blocks: the embedding, the heads
    if (first_ || (last_ && tied)) table = word_embeddings(p_, tied ? ends : std::vector<int>{});
    Value x = first_ ? embed(table) : p_.received();
    const i64 begin = std::max(piece_.first - 1, 0), end = std::min<i64>(piece_.last - 1, c_.num_layers);
    for (i64 i = begin; i < end; ++i) x = layer(i, x);
    if (!first_ && !last_ && begin == end) x = b_.add1(Scale{3, 1}, {x});  // sends on what it received
    if (last_)
      heads(x, table);
    else
      p_.out.sent = {x};
    return std::move(p_.out);
  }

 private:
  // Looks up the ids of the data leaf `ids` in a table. All ranks of tp have the whole table.
  Value looked_up(const std::string& name, i64 rows, const char* ids) {
    const Value table = p_.add_parameter(
        p_.declare(name, {rows, c_.hidden_size}, kOnStream, initial_of_table(c_, rows), ParameterKind::positions));
    Value at = p_.data(ids, DType::i32);
    if (p_.style.sequence_parallel) at = b_.relayout(at, groups::tensor, split(0));
    return b_.add1(Embedding{}, {at, table});
  }

  Value embed(Value table) {
    b_.set_module("embedding");
    Value x = p_.to_residual(b_.add1(Embedding{}, {p_.data("tokens", DType::i32), table}));
    if (c_.position_embedding_type == PositionEmbedding::learned_absolute)
      x = add(b_, "sbh,sbh->sbh", x,
              looked_up("embedding.position_embeddings.weight", c_.max_position_embeddings, "position_ids"));
    if (c_.bert.token_types > 0)
      x = add(b_, "sbh,sbh->sbh", x, looked_up("embedding.tokentype_embeddings.weight", c_.bert.token_types, "types"));
    x = p_.cast(x, p_.mode.precision.residual);
    if (c_.embedding_layernorm) x = p_.cast(p_.norm("embedding.layernorm", x), p_.mode.precision.residual);
    return p_.dropout("embedding", x);
  }

  // The input of a block, and the stream after the block's output is added. The norm is at one of the two positions.
  Value read(const std::string& norm, Value x) {
    return p_.to_tensor_parallel(c_.bert.post_norm ? p_.cast(x, p_.mode.precision.activations) : p_.norm(norm, x));
  }
  Value give(const std::string& norm, const std::string& bias, const std::string& site, Value x, Value y) {
    y = p_.biased(bias, "sbh,h->sbh", p_.to_residual(y), {c_.hidden_size}, c_.add_bias_linear);
    x = p_.add_to_stream(x, p_.dropout(site, y));
    return c_.bert.post_norm ? p_.cast(p_.norm(norm, x), p_.mode.precision.residual) : x;
  }

  Value layer(i64 index, Value x) {
    const std::string name = fmt::format("encoder.layers.{}.", index);
    b_.set_origin({.module = "attention", .layer = index});
    Value y = attention_block(p_, name + "self_attention.", read(name + "input_layernorm", x));
    x = give(name + "post_self_attn_layernorm", name + "self_attention.linear_proj", name + "attention", x, y);
    b_.set_origin({.module = "mlp", .layer = index});
    y = mlp_block(p_, name + "mlp.", read(name + "pre_mlp_layernorm", x), c_.ffn_hidden_size, c_.add_bias_linear);
    return give(name + "post_mlp_layernorm", name + "mlp.linear_fc2", name + "mlp", x, y);
  }

  void heads(Value x, Value table) {
    b_.set_module("head");
    const Value h =
        c_.bert.post_norm ? p_.cast(x, p_.mode.precision.activations) : p_.norm("encoder.final_layernorm", x);
    const Value logits = p_.out.outputs["logits"] = bert_logits(p_, h, table);
    const DType accum = accum_of(p_.mode.precision.activations);
    const Value labels = p_.data("labels", DType::i32), mask = p_.data("loss_mask", accum);
    const Value sum = einsum(b_, "sb,sb->", vocabulary_losses(p_, logits, labels), mask);
    p_.out.terms.push_back({"lm loss", sum, b_.add1(Sum{"sb->", accum}, {mask})});
    if (!c_.bert.binary_head()) return;
    const Value binary = p_.out.outputs["binary_logits"] = binary_logits(p_, h);
    add_order_loss(p_, binary);
  }

  Parts p_;
  Builder& b_;
  const ModelConfig& c_;
  const ModelPiece& piece_;
  const bool first_, last_;  // the first has the embedding, the last the heads and the losses
};

Batch::Array positions(const Batch& batch) {
  std::vector<i32> out(size_t(batch.sequences * batch.seq_length));
  for (size_t i = 0; i < out.size(); ++i) out[i] = i32(i % size_t(batch.seq_length));
  return out;
}

Batch::Array first_tokens(const Batch& batch) {
  std::vector<float> out(size_t(batch.sequences * batch.seq_length));
  for (size_t i = 0; i < out.size(); i += size_t(batch.seq_length)) out[i] = 1;
  return out;
}

Batch::Array ones(const Batch& batch) { return std::vector<float>(size_t(batch.sequences), 1.0f); }

}  // namespace

std::string Bert::describe(const ModelPiece& piece) const {
  const i64 first = std::max(piece.first - 1, 0), last = std::min<i64>(piece.last - 1, config_.num_layers) - 1;
  return fmt::format("{}{}{}", piece.first == 0 ? "embedding, " : "",
                     last < first ? "no layers" : fmt::format("layers {} to {}", first, last),
                     piece.last == blocks() ? ", heads" : "");
}

std::vector<std::string> Bert::terms() const {
  if (!config_.bert.binary_head()) return {"lm loss"};
  return {"lm loss", kOrderTerm};
}

std::vector<DataInput> Bert::inputs() const {
  std::vector<DataInput> out = {{"tokens"},    {"types"}, {"position_ids", true, positions}, {"lengths"}, {"labels"},
                                {"loss_mask"}, {"rows"}};
  if (!config_.bert.binary_head()) return out;
  out.push_back({"first_token", true, first_tokens});
  out.push_back({"is_random"});
  out.push_back({"pair_mask", true, ones});
  out.push_back({kStepTokens, false, {}, "loss_mask"});  // evaluation does not read it
  return out;
}

Built Bert::build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const {
  Parts parts{.b = b, .config = config_, .mode = mode, .style = style_};
  parts.suffix = piece.suffix, parts.seq = config_.seq_length, parts.causal = false;
  return BertBuilder(std::move(parts), piece).build();
}

}  // namespace megalith
