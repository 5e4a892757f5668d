#include "models/retro/retro.h"

#include "models/blocks/vocabulary.h"
#include "models/retro/neighbor_encoder.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/sum.h"

namespace megalith {

namespace {

class RetroBuilder {
 public:
  explicit RetroBuilder(Parts parts) : p_(std::move(parts)), b_(p_.b), c_(p_.config) {}

  Built build() {
    p_.rows = p_.sequence_data("rows", DType::i64);
    b_.set_module("embedding");
    table_ = word_embeddings(p_);
    Value x = embed_text(p_, "embedding", "tokens", "position_ids", table_);
    for (i64 i = 0; i < c_.num_layers; ++i) x = layer(i, x);
    b_.set_module("head");
    loss(c_.retro.no_final_layernorm ? p_.cast(x, p_.mode.precision.activations)
                                     : p_.norm("decoder.final_layernorm", x));
    return std::move(p_.out);
  }

 private:
  // Attention, attention to neighbours (in some layers), and the MLP. Each follows a norm and is added to the stream.
  Value layer(i64 index, Value x) {
    const std::string name = fmt::format("decoder.layers.{}.", index);
    b_.set_origin({"attention", index});
    Value y =
        attention_block(p_, name + "self_attention.", p_.to_tensor_parallel(p_.norm(name + "input_layernorm", x)));
    x = give_to_stream(p_, name + "self_attention.linear_proj", c_.attention_bias(), x, y);
    if (RetroModelConfig::attends(index, c_.num_layers)) x = attend_to_neighbors(index, name, x);
    b_.set_origin({"mlp", index});
    y = p_.to_tensor_parallel(p_.norm(name + "pre_mlp_layernorm", x));
    y = mlp_block(p_, name + "mlp.", y, c_.ffn_hidden_size, c_.mlp_bias());
    return give_to_stream(p_, name + "mlp.linear_fc2", c_.mlp_bias(), x, y);
  }

  // The first layer that attends to neighbours has the encoder.
  Value attend_to_neighbors(i64 index, const std::string& layer, Value x) {
    b_.set_origin({"neighbors", index});
    const Value normed = p_.norm(layer + "pre_cross_attn_layernorm", x);
    if (!memory_) memory_ = encode_neighbors(p_, layer + "cross_attention.encoder.", table_, normed);
    b_.set_origin({"cross attention", index});
    const std::string name = layer + "cross_attention.attn.";
    const Value y = p_.to_residual(attention_output(p_, name, seen_of_neighbors(name, normed)));
    return p_.add_to_stream(x, p_.dropout(name + "linear_proj", biased(name + "linear_proj.bias", y)));
  }

  // x [s,b,h] -> o [s,b,g,r,d], zeros for the first tokens
  Value seen_of_neighbors(const std::string& name, Value x) {
    const Chunks sizes = chunks_of(c_, p_.mode.batch);
    const CrossHeads heads = cross_heads(p_, name, p_.to_tensor_parallel(x), p_.to_tensor_parallel(memory_));
    const auto whole = [&](Value v) { return b_.relayout(v, groups::context, kSame); };
    const Value q = to_chunks(b_, sizes, "grd", move_ahead(b_, sizes, whole(heads.q)));
    const Value k = join_neighbors(b_, sizes, "gd", whole(heads.k));
    const Value v = join_neighbors(b_, sizes, "gd", whole(heads.v));
    AttentionSpec spec = attention_spec(p_, name, attention_scale(c_));
    spec.causal = false;
    const Value o = b_.add1(Attention{spec}, {q, k, v, chunk_rows(p_)});
    return b_.relayout(move_back(b_, sizes, from_chunks(b_, sizes, "grd", o)), groups::context, split(0),
                       p_.style.cp_order);
  }

  // Adds the bias only to tokens that have neighbours.
  Value biased(const std::string& name, Value y) {
    if (!c_.attention_bias()) return y;
    const Value mask = p_.cast(p_.data("cross_mask", accum_of(p_.mode.precision.activations)), b_.type(y).dtype);
    return add(b_, "sbh,sbh->sbh", y, einsum(b_, "sb,h->sbh", mask, p_.vector(name, {c_.hidden_size})));
  }

  void loss(Value x) {
    const Value l = p_.out.outputs["logits"] =
        einsum(b_, "sbh,vh->sbv", p_.to_tensor_parallel(x), head_weight(p_, table_));
    const DType accum = accum_of(p_.mode.precision.activations);
    const Value labels = p_.data("labels", DType::i32), mask = p_.data("loss_mask", accum);
    const Value sum = einsum(b_, "sb,sb->", vocabulary_losses(p_, l, labels), mask);
    p_.out.terms.push_back({"lm loss", sum, b_.add1(Sum{"sb->", accum}, {mask})});
  }

  Parts p_;
  Builder& b_;
  const ModelConfig& c_;
  Value table_, memory_;
};

// Sample numbers of the parts of each sequence, which has `parts` of them.
Batch::Array rows_of_parts(const Batch& batch, i64 parts) {
  std::vector<i64> out;
  for (const i64 row : batch.longs("rows"))
    for (i64 i = 0; i < parts; ++i) out.push_back(row * parts + i);
  return out;
}

// 0, 1, 2.. for each neighbour.
Batch::Array positions_of_neighbors(i64 neighbors, i64 length) {
  std::vector<i32> out(size_t(neighbors * length));
  for (size_t i = 0; i < out.size(); ++i) out[i] = i32(i64(i) % length);
  return out;
}

Batch::Array mask_of_first(const Batch& batch, i64 length, i64 first) {
  std::vector<float> out(size_t(batch.sequences * length));
  for (size_t i = 0; i < out.size(); ++i) out[i] = i64(i) % length < first ? 0.0f : 1.0f;
  return out;
}

}  // namespace

std::string Retro::describe(const ModelPiece&) const {
  return fmt::format("embedding, layers 0 to {}, encoder of neighbours of {}, head", config_.num_layers - 1,
                     config_.retro.encoder_layers);
}

std::vector<DataInput> Retro::inputs() const {
  const Chunks z = chunks_of(config_, 1);
  return {{"tokens"},
          {"labels"},
          {"loss_mask"},
          {"position_ids"},
          {"rows"},
          {"neighbor_tokens"},
          {.name = "neighbor_position_ids",
           .make = [z](const Batch& b) { return positions_of_neighbors(b.sequences * z.neighbors(), z.n); }},
          {.name = "neighbor_rows", .make = [z](const Batch& b) { return rows_of_parts(b, z.neighbors()); }},
          {.name = "chunk_rows", .make = [z](const Batch& b) { return rows_of_parts(b, z.chunks()); }},
          {.name = "cross_mask", .make = [z](const Batch& b) { return mask_of_first(b, z.l * z.m, z.m - 1); }}};
}

Built Retro::build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const {
  check(piece.first == 0 && piece.last == blocks(),
        "a RETRO is not cut into pipeline stages: leave out --pipeline-model-parallel-size, and split by "
        "--tensor-model-parallel-size");
  Parts parts{.b = b, .config = config_, .mode = mode, .style = style_};
  parts.suffix = piece.suffix, parts.seq = config_.seq_length;
  return RetroBuilder(std::move(parts)).build();
}

}  // namespace megalith
