#include "models/t5/t5.h"

#include <cmath>
#include <numeric>

#include "models/blocks/vocabulary.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {

namespace {

// One of the two stacks.
struct Stack {
  const char* name;    // before its parameters' names
  const char* tokens;  // the leaf of its text
  const char* ids;     // and of its positions
  bool causal;
};
constexpr Stack kEncoder{"encoder", "tokens", "position_ids", false};
constexpr Stack kDecoder{"decoder", "decoder_tokens", "decoder_position_ids", true};

class T5Builder {
 public:
  explicit T5Builder(Parts parts) : p_(std::move(parts)), b_(p_.b), c_(p_.config) {}

  Built build() {
    p_.rows = p_.sequence_data("rows", DType::i64);
    lengths_ = p_.sequence_data("lengths", DType::i32);
    table_ = word_embeddings(p_, false);
    const Value memory = encode();
    loss(decode(memory));
    return std::move(p_.out);
  }

 private:
  // The text of a stack as the stream [s,b,h]. Both texts read the same tables of words and positions.
  Value embed(const Stack& stack) {
    b_.set_module("embedding");
    Value x = p_.leave(b_.add1(Embedding{}, {p_.data(stack.tokens, DType::i32), table_}));
    if (c_.position_embedding_type == PositionEmbedding::learned_absolute) {
      const i64 rows = c_.max_position_embeddings;
      const Value positions =
          p_.add_parameter(p_.declare("embedding.position_embeddings.weight", {rows, c_.hidden_size}, kOnStream,
                                      initial_of_table(c_, rows), ParameterKind::positions));
      Value ids = p_.data(stack.ids, DType::i32);
      if (p_.style.sequence_parallel) ids = b_.relayout(ids, groups::tensor, split(0));
      x = add(b_, "sbh,sbh->sbh", x, b_.add1(Embedding{}, {ids, positions}));
    }
    return p_.dropout(std::string(stack.name) + " embedding", p_.cast(x, p_.mode.precision.residual));
  }

  // The bias of a stack's self-attentions, one table for all of its layers.
  Value positions_table(const Stack& stack) {
    if (c_.position_embedding_type != PositionEmbedding::relative) return {};
    const i64 g = c_.groups(), r = c_.heads_per_group(), k = c_.t5.relative_attention_num_buckets;
    return p_.add_parameter(p_.declare(fmt::format("{}_relative_pos_emb.relative_attention_bias.weight", stack.name),
                                       {g, r, k}, by_group(0, 1), {.std = c_.init_method_std},
                                       ParameterKind::positions));
  }

  Value encode() {
    p_.seq = c_.seq_length;
    Value x = embed(kEncoder);
    const Value table = positions_table(kEncoder);
    for (i64 i = 0; i < c_.num_layers; ++i) x = layer(kEncoder, table, i, x, {});
    b_.set_module("memory");
    return p_.norm("encoder.final_layernorm", x);
  }

  Value decode(Value memory) {
    p_.seq = c_.t5.decoder_seq_length;
    Value x = embed(kDecoder);
    const Value table = positions_table(kDecoder);
    for (i64 i = 0; i < c_.t5.decoder_num_layers; ++i) x = layer(kDecoder, table, i, x, memory);
    b_.set_module("head");
    return p_.norm("decoder.final_layernorm", x);
  }

  // What attention sees of its keys.
  void see(bool causal, Value lengths, Value table) {
    p_.causal = causal, p_.lengths = lengths, p_.positions_table = table;
  }

  // Attention, cross-attention where there is a memory, and the MLP, each behind its norm and added to the stream.
  // Padding stands behind all that exists, so that a causal text needs no lengths.
  Value layer(const Stack& stack, Value table, i64 index, Value x, Value memory) {
    const std::string name = fmt::format("{}.layers.{}.", stack.name, index);
    Origin at{"attention", index, stack.name};
    b_.set_origin(at);
    see(stack.causal, stack.causal ? Value{} : lengths_, table);
    Value y = attention_block(p_, name + "self_attention.", p_.enter(p_.norm(name + "input_layernorm", x)));
    x = give(name + "self_attention.linear_proj", c_.attention_bias(), x, y);
    if (memory) {
      at.module = "cross attention", b_.set_origin(at);
      see(false, lengths_, {});
      y = p_.enter(p_.norm(name + "pre_cross_attn_layernorm", x));
      y = cross_attention_block(p_, name + "cross_attention.", y, p_.enter(memory));
      x = give(name + "cross_attention.linear_proj", c_.attention_bias(), x, y);
    }
    at.module = "mlp", b_.set_origin(at);
    y = p_.enter(p_.norm(name + "pre_mlp_layernorm", x));
    y = mlp_block(p_, name + "mlp.", y, c_.ffn_hidden_size, c_.mlp_bias());
    return give(name + "mlp.linear_fc2", c_.mlp_bias(), x, y);
  }

  // x + what a block gives. A bias is added once, after the reduction.
  Value give(const std::string& linear, bool has_bias, Value x, Value y) {
    y = p_.biased(linear, "sbh,h->sbh", p_.leave(y), {c_.hidden_size}, has_bias);
    return p_.add_to_stream(x, p_.dropout(linear, y));
  }

  Value logits(Value x) {
    b_.set_module("head");
    const bool tied = !c_.untie_embeddings_and_output_weights;
    if (c_.t5.scale_decoder_outputs) x = b_.add1(Scale{3, 1 / std::sqrt(double(c_.hidden_size))}, {x});
    const Value l = einsum(b_, "sbh,vh->sbv", p_.enter(x), head_weight(p_, table_));
    if (!tied || c_.t5.no_head_bias) return l;
    Parameter bias = p_.declare("output_layer.bias", {c_.padded_vocab_size}, split_along(0), {}, ParameterKind::vector);
    bias.true_rows = c_.vocab_size;
    return add(b_, "sbv,v->sbv", l, p_.add_parameter(std::move(bias)));
  }

  void loss(Value x) {
    const Value l = p_.out.outputs["logits"] = logits(x);
    const DType accum = accum_of(p_.mode.precision.activations);
    const Value labels = p_.data("labels", DType::i32), mask = p_.data("loss_mask", accum);
    const Value sum = einsum(b_, "sb,sb->", vocabulary_losses(p_, l, labels), mask);
    p_.out.terms.push_back({"lm loss", sum, b_.add1(Sum{"sb->", accum}, {mask})});
  }

  Parts p_;
  Builder& b_;
  const ModelConfig& c_;
  Value lengths_, table_;
};

// 0, 1, 2.. of each sequence.
Batch::Array positions(const Batch& batch, i64 length) {
  std::vector<i32> out(size_t(batch.sequences * length));
  for (i64 b = 0; b < batch.sequences; ++b) std::iota(out.begin() + b * length, out.begin() + (b + 1) * length, 0);
  return out;
}

}  // namespace

std::string T5::describe(const ModelPiece&) const {
  return fmt::format("encoder of {} layers, decoder of {}, head", config_.num_layers, config_.t5.decoder_num_layers);
}

std::vector<DataInput> T5::inputs() const {
  const auto positions_of = [](i64 length) {
    return [length](const Batch& batch) { return positions(batch, length); };
  };
  const auto whole_length = [length = config_.seq_length](const Batch& batch) -> Batch::Array {
    return std::vector<i32>(size_t(batch.sequences), i32(length));
  };
  return {{"tokens"},
          {.name = "position_ids", .make = positions_of(config_.seq_length)},
          {.name = "lengths", .make = whole_length},
          {"decoder_tokens"},
          {.name = "decoder_position_ids", .make = positions_of(config_.t5.decoder_seq_length)},
          {"labels"},
          {"loss_mask"},
          {"rows"}};
}

Built T5::build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const {
  check(piece.first == 0 && piece.last == blocks(),
        "a T5 is not cut into pipeline stages yet: leave out --pipeline-model-parallel-size, and split by "
        "--tensor-model-parallel-size");
  Parts parts{.b = b, .config = config_, .mode = mode, .style = style_};
  parts.suffix = piece.suffix;
  return T5Builder(std::move(parts)).build();
}

}  // namespace megalith
