#include "models/t5/decode.h"

#include "mesh/groups.h"
#include "models/blocks/vocabulary.h"
#include "models/t5/stacks.h"

namespace megalith {

static BuildMode mode_of(const T5DecodeShape& shape) {
  return {.batch = 1, .precision = shape.precision, .dropout = false, .train = false};
}

Built build_t5_encoding(Builder& b, const ModelConfig& c, const T5DecodeShape& shape) {
  const BuildMode mode = mode_of(shape);
  const ParallelStyle style;
  T5Stacks t5(Parts{.b = b, .config = c, .mode = mode, .style = style, .seq = shape.source});
  t5.p.rows = t5.p.sequence_data("rows", DType::i64);
  const Value x = t5.embed(kT5Encoder, word_embeddings(t5.p));
  const Value memory = t5.memory(t5.layers(kT5Encoder, 0, c.num_layers, x));
  for (i64 i = 0; i < c.t5.decoder_num_layers; ++i)
    cache_memory(t5.p, fmt::format("decoder.layers.{}.cross_attention.", i), t5.p.to_tensor_parallel(memory));
  return std::move(t5.p.out);
}

Built build_t5_decoding(Builder& b, const ModelConfig& c, const T5DecodeShape& shape) {
  const BuildMode mode = mode_of(shape);
  const ParallelStyle style;
  Parts parts{.b = b, .config = c, .mode = mode, .style = style, .seq = 1};
  parts.cache_length = shape.length, parts.position_ids = true;
  T5Stacks t5(std::move(parts));
  t5.p.rows = t5.p.sequence_data("rows", DType::i64);
  t5.p.length = b.leaf({"length", {DType::i32, {}, whole(0)}});
  const Value table = word_embeddings(t5.p);
  const auto cross = [&](const std::string& name, Value x) {
    return cached_cross_attention(t5.p, name, x, shape.source);
  };
  const Value x = t5.layers(kT5Decoder, 0, c.t5.decoder_num_layers, t5.embed(kT5Decoder, table), cross);
  t5.p.out.outputs["logits"] = b.relayout(t5.logits(x, table), groups::tensor, kSame);
  return std::move(t5.p.out);
}

}  // namespace megalith
