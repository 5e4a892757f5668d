#include "models/retro/neighbor_encoder.h"

#include "ops/add.h"
#include "ops/embedding.h"

namespace megalith {

namespace {

// The encoder attends without rotary positions.
ModelConfig config_of_encoder(ModelConfig c) {
  if (c.position_embedding_type == PositionEmbedding::rope) c.position_embedding_type = PositionEmbedding::none;
  c.hidden_dropout = c.retro.encoder_hidden_dropout, c.attention_dropout = c.retro.encoder_attention_dropout;
  return c;
}

BuildMode mode_of_encoder(BuildMode mode, i64 neighbors) {
  mode.batch = neighbors;
  return mode;
}

class NeighborEncoder {
 public:
  NeighborEncoder(Parts& decoder, const std::string& name, Value states)
      : decoder_(decoder),
        name_(name),
        states_(states),
        sizes_(chunks_of(decoder.config, decoder.mode.batch)),
        config_(config_of_encoder(decoder.config)),
        mode_(mode_of_encoder(decoder.mode, sizes_.neighbors())),
        p_{.b = decoder.b, .config = config_, .mode = mode_, .style = decoder.style} {
    p_.suffix = decoder.suffix, p_.seq = sizes_.n, p_.causal = false;
  }

  // Its parameters are listed among the decoder's.
  Value operator()(Value table) {
    std::swap(p_.out, decoder_.out);
    p_.rows = p_.sequence_data("neighbor_rows", DType::i64);
    Value x = embed_text(p_, "neighbors embedding", "neighbor_tokens", "neighbor_position_ids", table);
    for (i64 i = 0; i < config_.retro.encoder_layers; ++i) x = layer(i, x);
    std::swap(p_.out, decoder_.out);
    return x;
  }

 private:
  // The norm before the first layer's cross-attention replaces the stream.
  Value layer(i64 index, Value x) {
    const std::string name = fmt::format("{}layers.{}.", name_, index);
    Value y =
        attention_block(p_, name + "self_attention.", p_.to_tensor_parallel(p_.norm(name + "input_layernorm", x)));
    x = give_to_stream(p_, name + "self_attention.linear_proj", config_.attention_bias(), x, y);
    if (index == 0) {
      const std::string cross = name + "cross_attention.attn.";
      const Value normed = p_.norm(name + "pre_cross_attn_layernorm", x);
      x = give_to_stream(p_, cross + "linear_proj", config_.attention_bias(), p_.cast(normed, p_.b.type(x).dtype),
                         attend_to_chunk(cross, normed));
    }
    y = p_.to_tensor_parallel(p_.norm(name + "pre_mlp_layernorm", x));
    y = mlp_block(p_, name + "mlp.", y, config_.ffn_hidden_size, config_.mlp_bias());
    return give_to_stream(p_, name + "mlp.linear_fc2", config_.mlp_bias(), x, y);
  }

  // All neighbours of a chunk are queries of one text, so the chunk's keys are computed once.
  Value attend_to_chunk(const std::string& name, Value x) {
    Builder& b = p_.b;
    const CrossHeads heads = cross_heads(p_, name, p_.to_tensor_parallel(x), p_.to_tensor_parallel(states_));
    const Value q = join_neighbors(b, sizes_, "grd", heads.q);
    const Value k = to_chunks(b, sizes_, "gd", b.relayout(heads.k, groups::context, kCopy));
    const Value v = to_chunks(b, sizes_, "gd", b.relayout(heads.v, groups::context, kCopy));
    const Attention op{attention_spec(p_, name, attention_scale(config_))};
    const Value o = b.add1(op, {q, k, v, chunk_rows(decoder_)});
    return attention_output(p_, name, part_neighbors(b, sizes_, "grd", o));
  }

  Parts& decoder_;
  const std::string name_;
  const Value states_;
  const Chunks sizes_;
  const ModelConfig config_;
  const BuildMode mode_;
  Parts p_;
};

}  // namespace

Value embed_text(Parts& p, const std::string& site, const char* tokens, const char* ids, Value table) {
  const ModelConfig& c = p.config;
  Value x = p.to_residual(p.b.add1(Embedding{}, {p.data(tokens, DType::i32), table}));
  if (c.position_embedding_type == PositionEmbedding::learned_absolute) {
    const i64 rows = c.max_position_embeddings;
    const Value positions = p.add_parameter(p.declare("embedding.position_embeddings.weight", {rows, c.hidden_size},
                                                      kOnStream, initial_of_table(c, rows), ParameterKind::positions));
    x = add(p.b, "sbh,sbh->sbh", x, p.b.add1(Embedding{}, {p.data(ids, DType::i32), positions}));
  }
  return p.dropout(site, p.cast(x, p.mode.precision.residual));
}

Value give_to_stream(Parts& p, const std::string& linear, bool has_bias, Value x, Value y) {
  y = p.biased(linear, "sbh,h->sbh", p.to_residual(y), {p.config.hidden_size}, has_bias);
  return p.add_to_stream(x, p.dropout(linear, y));
}

Value encode_neighbors(Parts& p, const std::string& name, Value table, Value states) {
  return NeighborEncoder(p, name, states)(table);
}

}  // namespace megalith
