#include "models/t5/stacks.h"

#include <cmath>

#include "models/blocks/vocabulary.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/scale.h"

namespace megalith {

Value T5Stacks::embed(const T5Stack& stack, Value table) {
  b_.set_module("embedding");
  Value x = p.to_residual(b_.add1(Embedding{}, {p.data(stack.tokens, DType::i32), table}));
  if (c_.position_embedding_type == PositionEmbedding::learned_absolute) {
    const i64 rows = c_.max_position_embeddings;
    Parameter positions = p.declare("embedding.position_embeddings.weight", {rows, c_.hidden_size}, kOnStream,
                                    initial_of_table(c_, rows), ParameterKind::positions);
    positions.blocks = {0, int(c_.num_layers) + 1};  // blocks at which a text begins
    Value ids = p.data(stack.ids, DType::i32);
    if (p.style.sequence_parallel) ids = b_.relayout(ids, groups::tensor, split(0));
    x = add(b_, "sbh,sbh->sbh", x, b_.add1(Embedding{}, {ids, p.add_parameter(std::move(positions))}));
  }
  return p.dropout(std::string(stack.name) + " embedding", p.cast(x, p.mode.precision.residual));
}

// The bias of a stack's self-attentions: one table for all layers.
Value T5Stacks::positions_table(const T5Stack& stack) {
  if (c_.position_embedding_type != PositionEmbedding::relative) return {};
  const i64 g = c_.groups(), r = c_.heads_per_group(), k = c_.t5.relative_attention_num_buckets;
  Parameter table = p.declare(fmt::format("{}_relative_pos_emb.relative_attention_bias.weight", stack.name), {g, r, k},
                              by_group(0, 1), {.std = c_.init_method_std}, ParameterKind::positions);
  // All pieces with layers of the stack hold it (t5.h explains the indices of blocks).
  const i64 begin = stack.causal ? c_.num_layers + 1 : 1,
            count = stack.causal ? c_.t5.decoder_num_layers : c_.num_layers;
  for (i64 block = begin; block < begin + count; ++block) table.blocks.push_back(int(block));
  return p.add_parameter(std::move(table));
}

Value T5Stacks::layers(const T5Stack& stack, i64 first, i64 last, Value x, const Cross& cross) {
  if (first == last) return x;
  const Value table = positions_table(stack);
  for (i64 i = first; i < last; ++i) x = layer(stack, table, i, x, cross);
  return x;
}

// Sets the keys that attention sees.
void T5Stacks::see(bool causal, Value of_keys, Value table) {
  p.causal = causal, p.lengths = of_keys, p.positions_table = table;
}

// Attention, cross-attention (in the decoder) and the MLP. Each follows a norm and is added to the stream. Padding is
// after all tokens, so a causal text needs no lengths.
Value T5Stacks::layer(const T5Stack& stack, Value table, i64 index, Value x, const Cross& cross) {
  const std::string name = fmt::format("{}.layers.{}.", stack.name, index);
  Origin at{"attention", index, stack.name};
  b_.set_origin(at);
  see(stack.causal, stack.causal ? Value{} : lengths, table);
  Value y = attention_block(p, name + "self_attention.", p.to_tensor_parallel(p.norm(name + "input_layernorm", x)));
  x = give(name + "self_attention.linear_proj", c_.attention_bias(), x, y);
  if (cross) {
    at.module = "cross attention", b_.set_origin(at);
    see(false, lengths, {});
    y = cross(name + "cross_attention.", p.to_tensor_parallel(p.norm(name + "pre_cross_attn_layernorm", x)));
    x = give(name + "cross_attention.linear_proj", c_.attention_bias(), x, y);
  }
  at.module = "mlp", b_.set_origin(at);
  y = p.to_tensor_parallel(p.norm(name + "pre_mlp_layernorm", x));
  y = mlp_block(p, name + "mlp.", y, c_.ffn_hidden_size, c_.mlp_bias());
  return give(name + "mlp.linear_fc2", c_.mlp_bias(), x, y);
}

// x plus the output of a block. A bias is added once, after the reduction.
Value T5Stacks::give(const std::string& linear, bool has_bias, Value x, Value y) {
  y = p.biased(linear, "sbh,h->sbh", p.to_residual(y), {c_.hidden_size}, has_bias);
  return p.add_to_stream(x, p.dropout(linear, y));
}

Value T5Stacks::memory(Value x) {
  b_.set_module("memory");
  return p.norm("encoder.final_layernorm", x);
}

Value T5Stacks::logits(Value x, Value table) {
  b_.set_module("head");
  x = p.norm("decoder.final_layernorm", x);
  const bool tied = !c_.untie_embeddings_and_output_weights;
  if (c_.t5.scale_decoder_outputs) x = b_.add1(Scale{3, 1 / std::sqrt(double(c_.hidden_size))}, {x});
  const Value l = einsum(b_, "sbh,vh->sbv", p.to_tensor_parallel(x), head_weight(p, table));
  if (!tied || c_.t5.no_head_bias) return l;
  Parameter bias = p.declare("output_layer.bias", {c_.padded_vocab_size}, split_along(0), {}, ParameterKind::vector);
  bias.true_rows = c_.vocab_size;
  return add(b_, "sbv,v->sbv", l, p.add_parameter(std::move(bias)));
}

}  // namespace megalith
