#include "models/gpt/gpt.h"

#include <cmath>

#include "models/blocks/router.h"
#include "models/blocks/vocabulary.h"
#include "models/gpt/mtp.h"
#include "ops/add.h"
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
    const auto [table, x] = layers();
    if (last_)  // all tensor-parallel ranks choose the next token
      p_.out.outputs["logits"] = b_.relayout(logits(final_norm(x), head_weight(p_, table)), groups::tensor, kSame);
    else
      p_.out.sent = {x};
    return std::move(p_.out);
  }

  Built build() {
    p_.rows = p_.sequence_data("rows", DType::i64);
    const auto [table, x] = layers();
    if (last_)
      loss(x, table);
    else
      p_.out.sent = {x};
    add_router_terms(p_);
    if (predicts_on() && first_ != last_)  // the last stage embeds too
      for (Parameter& p : p_.out.parameters)
        if (p.name.starts_with("embedding.")) p.blocks = ends();
    return std::move(p_.out);
  }

 private:
  // blocks that embed or use the table: the embedding, the head
  std::vector<int> ends() const { return {0, int(c_.num_layers) + 1}; }
  bool predicts_on() const { return c_.mtp.num_layers > 0 && p_.mode.train; }

  // The table of words if the piece reads it, and the stream [s,b,h] after the piece's layers.
  std::pair<Value, Value> layers() {
    Value table;
    if (first_ || (last_ && (!c_.untie_embeddings_and_output_weights || predicts_on())))
      table = word_embeddings(p_, c_.untie_embeddings_and_output_weights ? std::vector<int>{} : ends());
    Value x = first_ ? embed(p_.data("tokens", DType::i32), table) : p_.received();
    const i64 begin = std::max(piece_.first - 1, 0), end = std::min<i64>(piece_.last - 1, c_.num_layers);
    for (i64 i = begin; i < end; ++i) x = layer(i, x);
    if (!first_ && !last_ && begin == end) x = b_.add1(Scale{3, 1}, {x});  // sends on what it received
    return {table, x};
  }

  // tokens [s,b] -> the stream [s,b,h]
  Value embed(Value tokens, Value table) {
    if (b_.origin().layer < 0) b_.set_module("embedding");
    Value x = p_.to_residual(b_.add1(Embedding{}, {tokens, table}));
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

  // The input of a block, in the stream's layout, and its output. The norm is at one of the two positions.
  Value read(const std::string& norm, Value x) {
    return c_.norm_block_output ? p_.cast(x, p_.mode.precision.activations) : p_.norm(norm, x);
  }
  Value give(const std::string& norm, Value x, Value y, const std::string& site) {
    return p_.add_to_stream(x, p_.dropout(site, c_.norm_block_output ? p_.norm(norm, y) : y));
  }

  // x + attention(norm(x)), then x + mlp(norm(x)), or a mixture of experts instead of the MLP. With parallel_residual
  // both read one x. A bias is added once, after the reduction.
  Value layer(i64 index, Value x) {
    const bool mixture = !mixtures_.empty() && mixtures_[size_t(index)];
    return layer(fmt::format("decoder.layers.{}.", index), {{}, index}, mixture, x);
  }

  // `at`: its origin in the model.
  Value layer(const std::string& name, Origin at, bool mixture, Value x) {
    const auto attention_bias = [&](Value y) {
      return p_.biased(name + "self_attention.linear_proj", "sbh,h->sbh", y, {c_.hidden_size}, c_.attention_bias());
    };
    at.module = "attention", b_.set_origin(at);
    const Value h = read(name + "input_layernorm", x);
    const auto block = c_.mla.on() ? latent_attention_block : attention_block;
    Value y = block(p_, name + "self_attention.", c_.mla.on() ? h : p_.to_tensor_parallel(h));
    if (!c_.parallel_residual) {
      y = attention_bias(p_.to_residual(y));
      x = give(name + "post_self_attn_layernorm", x, y, name + "attention");
    }
    at.module = "mlp", b_.set_origin(at);
    const bool shared = c_.parallel_residual && c_.parallel_shared_norm;
    if (mixture) {
      const Value z = moe_block(p_, name + "mlp.", shared ? h : read(name + "pre_mlp_layernorm", x));
      y = c_.parallel_residual ? add(b_, "sbh,sbh->sbh", attention_bias(p_.to_residual(y)), z) : z;
      return give(name + "post_mlp_layernorm", x, y, name + "mlp");
    }
    const Value z =
        mlp_block(p_, name + "mlp.", p_.to_tensor_parallel(shared ? h : read(name + "pre_mlp_layernorm", x)),
                  c_.ffn_hidden_size, c_.mlp_bias());
    y = p_.to_residual(c_.parallel_residual ? add(b_, "sbh,sbh->sbh", y, z) : z);
    if (c_.parallel_residual) y = attention_bias(y);
    y = p_.biased(name + "mlp.linear_fc2", "sbh,h->sbh", y, {c_.hidden_size}, c_.mlp_bias());
    return give(name + "post_mlp_layernorm", x, y, name + "mlp");
  }

  Value final_norm(Value x) {
    b_.set_module("head");
    return p_.norm("decoder.final_layernorm", x);
  }

  Value logits(Value x, Value weight) {
    b_.set_module("head");
    return einsum(b_, "sbh,vh->sbv", p_.to_tensor_parallel(x), weight);
  }

  void loss(Value x, Value table) {
    const Value h = final_norm(x), weight = head_weight(p_, table);
    const Value l = p_.out.outputs["logits"] = logits(h, weight);
    const DType accum = accum_of(p_.mode.precision.activations);
    const Value labels = p_.data("labels", DType::i32), mask = p_.data("loss_mask", accum);
    const Value sum = einsum(b_, "sb,sb->", vocabulary_losses(p_, l, labels), mask);
    p_.out.terms.push_back({"lm loss", sum, b_.add1(Sum{"sb->", accum}, {mask})});
    if (predicts_on()) predict_on(h, table, weight);
  }

  void predict_on(Value h, Value table, Value head) {
    const auto embed_again = [&](Value tokens) { return embed(tokens, table); };
    const auto layer_of = [this](const std::string& name, Value stream) {
      const bool mixture = !mixtures_.empty() && mixtures_.back();  // like the last layer
      return layer(name, {{}, b_.origin().layer, b_.origin().stack}, mixture, stream);
    };
    const auto losses_of = [this](Value stream, Value weight, Value labels) {
      return vocabulary_losses(p_, logits(stream, weight), labels);
    };
    add_mtp(p_, {head, embed_again, layer_of, losses_of}, h);
  }

  Parts p_;
  Builder& b_;
  const ModelConfig& c_;
  const ModelPiece& piece_;
  const bool first_, last_;           // the first has the embedding, the last the head and the loss
  const std::vector<bool> mixtures_;  // by layer; {}: none
};

}  // namespace

std::string Gpt::describe(const ModelPiece& piece) const {
  const i64 first = std::max(piece.first - 1, 0), last = std::min<i64>(piece.last - 1, config_.num_layers) - 1;
  const i64 mtp = config_.mtp.modules();
  const std::string modules = mtp ? fmt::format(", {} of multi-token prediction", mtp) : "";
  return fmt::format("{}{}{}", piece.first == 0 ? "embedding, " : "",
                     last < first ? "no layers" : fmt::format("layers {} to {}", first, last),
                     piece.last == blocks() ? ", head" + modules : "");
}

std::vector<std::string> Gpt::terms() const {
  std::vector<std::string> out = {"lm loss"};
  for (i64 depth = 1; depth <= config_.mtp.num_layers; ++depth) out.push_back(mtp_term(depth));
  for (const std::string& name : router_terms(config_.moe)) out.push_back(name);
  return out;
}

std::vector<DataInput> Gpt::inputs() const {
  std::vector<DataInput> out = {{"tokens"}, {"labels"}, {"loss_mask"}, {"position_ids"}, {"document_starts", false},
                                {"rows"}};
  for (DataInput& input : mtp_inputs(config_.mtp.num_layers)) out.push_back(std::move(input));
  if (config_.mtp.num_layers > 0 || !router_terms(config_.moe).empty())
    out.push_back({kStepTokens, false, {}, "loss_mask"});  // evaluation does not read it
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
  parts.suffix = shape.piece.suffix;
  return GptBuilder(std::move(parts), shape.piece).build_decoder();
}

}  // namespace megalith
