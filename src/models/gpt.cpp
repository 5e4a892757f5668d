#include "models/gpt.h"

#include <cmath>

#include "base/rng.h"
#include "ops/activate.h"
#include "ops/add.h"
#include "ops/attention.h"
#include "ops/cached_attention.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/scale.h"
#include "ops/sum.h"
#include "ops/swiglu.h"

namespace megalith {

namespace {

class GptBuilder {
 public:
  GptBuilder(Builder& b, const ModelConfig& c, const GptShape& shape, const ParallelStyle& style)
      : b_(b),
        c_(c),
        shape_(shape),
        style_(style),
        piece_(shape.piece.value_or(GptPiece{0, c.num_layers})),
        seq_(shape.seq ? shape.seq : c.seq_length) {}

  Gpt build_decoder(i64 cache_length) {
    cache_length_ = cache_length;
    length_ = b_.leaf({"length", {DType::i32, {}, whole(0)}});
    const Value table =
        param("embedding.word_embeddings.weight", {c_.padded_vocab_size, c_.hidden_size}, c_.init_method_std);
    Value x = embed(table);
    for (i64 i = 0; i < c_.num_layers; ++i) x = layer(i, x);
    out_.logits = logits(x, table);
    return std::move(out_);
  }

  Gpt build() {
    const bool first = piece_.first, last = piece_.last;
    rows_ = b_.leaf({"rows" + piece_.suffix, {DType::i64, {shape_.batch}, {{{{Axis::dp}}}, {}, {}, {}}}});
    Value table;
    if (first || (last && !c_.untie_embeddings_and_output_weights)) table = word_embeddings(first != last);
    Value x = first ? embed(table) : received();
    for (i64 i = piece_.first_layer; i < piece_.last_layer; ++i) x = layer(i, x);
    if (!first && !last && piece_.first_layer == piece_.last_layer) x = b_.add1(Scale{3, 1}, {x});  // passed on
    if (last)
      loss(x, table);
    else
      out_.output = x;
    return std::move(out_);
  }

 private:
  // ---- parameters and data
  Parameter declare(const std::string& name, const Shape& shape, double std, double mean = 0) {
    const bool vector = name.ends_with(".bias") || name.find("layernorm") != std::string::npos;
    const bool vocabulary = name.ends_with("word_embeddings.weight") || name.ends_with("output_layer.weight");
    const Type type{shape_.dtype, shape, gpt_layout(name, int(shape.size()), c_, style_)};
    return {name, type, std, mean, !vector, vocabulary ? c_.vocab_size : shape[0], {}};
  }
  Value add_parameter(Parameter p) {
    p.value = b_.leaf(leaf_of(
        p, [](const std::string& name) { return name; }, p.type, Role::parameter));
    out_.parameters.push_back(p);
    return p.value;
  }
  Value param(const std::string& name, const Shape& shape, double std, double mean = 0) {
    return add_parameter(declare(name, shape, std, mean));
  }

  Value data(const std::string& name, DType dtype) {  // [s,b]
    if (cache_length_)                                // a few new tokens: cp has nothing to split
      return b_.leaf(
          {fmt::format("{}/{}", name, seq_), {dtype, {seq_, shape_.batch}, {{{}, {{Axis::dp}}}, {}, {}, {}}}});
    return b_.leaf({name + piece_.suffix,
                    {dtype, {seq_, shape_.batch}, {{{{Axis::cp, style_.cp_order}}, {{Axis::dp}}}, {}, {}, {}}}});
  }

  // ---- between the residual stream and the tensor-parallel parts
  Value enter(Value x) { return b_.relayout(x, tensor_parallel_axes(), kCopy); }
  Value leave(Value y) { return b_.relayout(y, tensor_parallel_axes(), style_.sequence_parallel ? split(0) : kSame); }

  Value dropout(const std::string& site, Value x) {
    if (!shape_.dropout || c_.hidden_dropout == 0) return x;
    return b_.add1(Dropout{"sbh,b->sbh", c_.hidden_dropout, mix(shape_.seed, hash_name(site))}, {x, rows_});
  }

  Value norm(const std::string& name, Value x) {
    const Value w = param(name + ".weight", {c_.hidden_size}, 0, 1);
    if (c_.normalization == Normalization::rms_norm) return rms_norm(b_, "sbh", x, w, c_.norm_epsilon);
    return layer_norm(b_, "sbh", x, w, param(name + ".bias", {c_.hidden_size}, 0), c_.norm_epsilon);
  }

  // `one_of_two`: another stage holds it too, as the head's weight.
  Value word_embeddings(bool one_of_two) {
    Parameter p =
        declare("embedding.word_embeddings.weight", {c_.padded_vocab_size, c_.hidden_size}, c_.init_method_std);
    p.tied = one_of_two && !c_.untie_embeddings_and_output_weights;
    return add_parameter(std::move(p));
  }

  // The residual stream as the stage before sends it.
  Value received() {
    Layout l{{{{Axis::cp, style_.cp_order}}, {{Axis::dp}}, {}}, {}, {}, {}};
    if (style_.sequence_parallel)
      for (Axis a : tensor_parallel_axes()) l.dims[0].push_back({a});
    const Type type{shape_.dtype, {seq_, shape_.batch, c_.hidden_size}, l};
    return out_.input = b_.leaf({"in" + piece_.suffix, type, Role::input, true});
  }

  Value biased(const std::string& name, const std::string& spec, Value y, Shape shape, bool has_bias) {
    return has_bias ? add(b_, spec, y, param(name + ".bias", std::move(shape), 0)) : y;
  }

  double output_std() const { return c_.init_method_std / std::sqrt(2.0 * double(c_.num_layers)); }

  // ---- the parts
  Value embed(Value table) {
    b_.set_tag("embedding");
    Value x = leave(b_.add1(Embedding{}, {data("tokens", DType::i32), table}));
    if (c_.position_embedding_type == PositionEmbedding::learned_absolute) {
      const Value positions = param("embedding.position_embeddings.weight",
                                    {c_.max_position_embeddings, c_.hidden_size}, c_.init_method_std);
      Value ids = data("position_ids", DType::i32);
      if (style_.sequence_parallel) ids = b_.relayout(ids, tensor_parallel_axes(), split(0));
      x = add(b_, "sbh,sbh->sbh", x, b_.add1(Embedding{}, {ids, positions}));
    }
    if (c_.embedding_layernorm) x = norm("embedding.layernorm", x);
    return dropout("embedding", x);
  }

  // x + attention(norm(x)), then x + mlp(norm(x)); or both from one x. A bias is added once, after the reduction.
  Value layer(i64 index, Value x) {
    const std::string name = fmt::format("decoder.layers.{}.", index), tag = fmt::format("layer {} ", index);
    b_.set_tag(tag + "attention");
    const Value h = enter(norm(name + "input_layernorm", x));
    Value y = attention(name + "self_attention.", h);
    if (!c_.parallel_residual) {
      y = biased(name + "self_attention.linear_proj", "sbh,h->sbh", leave(y), {c_.hidden_size}, c_.add_bias_linear);
      x = add(b_, "sbh,sbh->sbh", x, dropout(name + "attention", y));
    }
    b_.set_tag(tag + "mlp");
    const bool shared = c_.parallel_residual && c_.parallel_shared_norm;
    const Value z = mlp(name + "mlp.", shared ? h : enter(norm(name + "pre_mlp_layernorm", x)));
    y = leave(c_.parallel_residual ? add(b_, "sbh,sbh->sbh", y, z) : z);
    if (c_.parallel_residual)
      y = biased(name + "self_attention.linear_proj", "sbh,h->sbh", y, {c_.hidden_size}, c_.add_bias_linear);
    y = biased(name + "mlp.linear_fc2", "sbh,h->sbh", y, {c_.hidden_size}, c_.add_bias_linear);
    return add(b_, "sbh,sbh->sbh", x, dropout(name + "mlp", y));
  }

  Value head_norm(const std::string& name, const std::string& letters, Value x) {
    if (!c_.qk_layernorm) return x;
    return rms_norm(b_, letters, x, param(name + ".weight", {c_.kv_channels}, 0, 1), c_.norm_epsilon);
  }

  // heads: of the dim before the last, only the first ones turn; 0: all
  Value rope(const std::string& letters, Value x, i64 heads = 0) {
    if (c_.position_embedding_type != PositionEmbedding::rope) return x;
    Rope op;
    op.x = letters, op.heads = heads;
    op.freq.base = c_.rotary_base;
    op.freq.dims = i64(double(c_.kv_channels) * c_.rotary_percent) / 2 * 2;
    op.freq.position_scale = c_.rotary_seq_len_interpolation_factor;
    if (c_.use_rope_scaling) {
      op.freq.factor = c_.rope_scaling_factor;
      op.freq.low_freq_factor = c_.rope_low_freq_factor, op.freq.high_freq_factor = c_.rope_high_freq_factor;
      op.freq.original_max_position = double(c_.rope_original_max_position_embeddings);
    }
    op.positions = shape_.position_ids;
    if (!op.positions) return b_.add1(op, {x});
    return b_.add1(op, {x, data("position_ids", DType::i32)});
  }

  bool packs_qkv() const {
    const Mesh& m = b_.mesh();
    return style_.pack_qkv && !cache_length_ && !c_.qk_layernorm && m.n(Axis::tk) * m.n(Axis::tr) * m.n(Axis::cp) == 1;
  }

  // q, k and v's weights (or biases) as one, [j,d,..]: query heads, then key heads, then value heads.
  Value packed_parameter(const std::string& name, const std::string& kind, const Shape& per_head, double std) {
    const i64 g = c_.groups(), r = c_.heads_per_group();
    const auto of = [&](const char* which, Shape lead) {
      lead.insert(lead.end(), per_head.begin(), per_head.end());
      return declare(name + which + kind, lead, std);
    };
    Parameter p = of("linear_qkv", {g * (r + 2)});
    p.parts = {of("linear_q", {g, r}), of("linear_k", {g}), of("linear_v", {g})};
    return add_parameter(std::move(p));
  }

  // x [s,b,h] -> o [s,b,g,r,d], with q, k and v in one tensor [s,b,j,d]
  Value packed_attention(const std::string& name, Value x) {
    const i64 g = c_.groups(), r = c_.heads_per_group(), d = c_.kv_channels;
    Value qkv =
        einsum(b_, "sbh,jdh->sbjd", x, packed_parameter(name, ".weight", {d, c_.hidden_size}, c_.init_method_std));
    if (c_.qkv_bias()) qkv = add(b_, "sbjd,jd->sbjd", qkv, packed_parameter(name, ".bias", {d}, 0));
    qkv = rope("sbjd", qkv, g * (r + 1));
    Attention op{attention_spec(name)};
    op.at.groups = g, op.at.heads_per_group = r;
    // Over axes of one rank: the types say what the rest of the model expects, and no data moves.
    std::vector<Value> ins = {b_.relayout(qkv, {Axis::cp}, kSame), rows_};
    if (op.at.starts) ins.push_back(b_.relayout(data("document_starts", DType::i32), {Axis::cp}, kSame));
    Value o = b_.relayout(b_.add1(op, ins), {Axis::cp}, split(0), style_.cp_order);
    o = b_.relayout(o, {Axis::tk}, split(2));
    return b_.relayout(o, {Axis::tr}, split(3));
  }

  // x [s,b,h] -> [s,b,h], a sum still partial over tp
  Value attention(const std::string& name, Value x) {
    const i64 g = c_.groups(), r = c_.heads_per_group(), d = c_.kv_channels, h = c_.hidden_size;
    const Value o = packs_qkv() ? packed_attention(name, x) : split_attention(name, x);
    return einsum(b_, "sbgrd,hgrd->sbh", o, param(name + "linear_proj.weight", {h, g, r, d}, output_std()));
  }

  // x [s,b,h] -> o [s,b,g,r,d]
  Value split_attention(const std::string& name, Value x) {
    const i64 g = c_.groups(), r = c_.heads_per_group(), d = c_.kv_channels, h = c_.hidden_size;
    const bool bias = c_.qkv_bias();
    Value q = einsum(b_, "sbh,grdh->sbgrd", x, param(name + "linear_q.weight", {g, r, d, h}, c_.init_method_std));
    Value k = einsum(b_, "sbh,gdh->sbgd", x, param(name + "linear_k.weight", {g, d, h}, c_.init_method_std));
    Value v = einsum(b_, "sbh,gdh->sbgd", x, param(name + "linear_v.weight", {g, d, h}, c_.init_method_std));
    q = biased(name + "linear_q", "sbgrd,grd->sbgrd", q, {g, r, d}, bias);
    k = biased(name + "linear_k", "sbgd,gd->sbgd", k, {g, d}, bias);
    v = biased(name + "linear_v", "sbgd,gd->sbgd", v, {g, d}, bias);
    q = rope("sbgrd", head_norm(name + "q_layernorm", "sbgrd", q));
    k = rope("sbgd", head_norm(name + "k_layernorm", "sbgd", k));
    return attend(name, q, k, v);
  }

  Value cached(const std::string& name, Value x) {  // [s,b,g,d] -> the whole cache [t,b,g,d]
    Type type = b_.type(x);
    type.shape[0] = cache_length_;
    const Value cache = b_.leaf({name, type, Role::cache});
    return b_.add1(CacheWrite{}, {cache, x, length_});
  }

  AttentionSpec attention_spec(const std::string& name) const {
    AttentionSpec at;
    at.scale = 1 / std::sqrt(double(c_.kv_channels));
    at.window = c_.sliding_window;
    at.alibi = c_.position_embedding_type == PositionEmbedding::alibi;
    at.dropout = shape_.dropout ? c_.attention_dropout : 0;
    at.seed = mix(shape_.seed, hash_name(name));
    at.starts = shape_.document_starts;
    return at;
  }

  // Over cp: keys and values gathered, or (all-to-all) the sequence whole and the groups split once more.
  Value attend(const std::string& name, Value q, Value k, Value v) {
    const std::vector<Axis> cp = {Axis::cp};
    if (cache_length_)
      return b_.add1(CachedAttention{attention_spec(name)},
                     {q, cached(name + "keys", k), cached(name + "values", v), length_});
    if (style_.cp_all_to_all) q = b_.relayout(q, cp, split(2));
    k = b_.relayout(k, cp, style_.cp_all_to_all ? split(2) : kCopy);
    v = b_.relayout(v, cp, style_.cp_all_to_all ? split(2) : kCopy);
    const Attention op{attention_spec(name)};
    std::vector<Value> ins = {q, k, v, rows_};
    if (op.at.starts) {
      const Value starts = data("document_starts", DType::i32);
      ins.push_back(style_.cp_all_to_all ? b_.relayout(starts, cp, kSame) : starts);
    }
    const Value o = b_.add1(op, ins);
    return style_.cp_all_to_all ? b_.relayout(o, cp, split(0), style_.cp_order) : o;
  }

  // x [s,b,h] -> [s,b,h], a sum still partial over tp
  Value mlp(const std::string& name, Value x) {
    const i64 f = c_.ffn_hidden_size, h = c_.hidden_size;
    Value u;
    if (c_.gated()) {
      u = einsum(b_, "sbh,nfh->sbnf", x, param(name + "linear_fc1.weight", {2, f, h}, c_.init_method_std));
      u = swiglu(b_, biased(name + "linear_fc1", "sbnf,nf->sbnf", u, {2, f}, c_.add_bias_linear));
    } else {
      u = einsum(b_, "sbh,fh->sbf", x, param(name + "linear_fc1.weight", {f, h}, c_.init_method_std));
      u = activate(b_, activation(), biased(name + "linear_fc1", "sbf,f->sbf", u, {f}, c_.add_bias_linear));
    }
    return einsum(b_, "sbf,hf->sbh", u, param(name + "linear_fc2.weight", {h, f}, output_std()));
  }

  Act activation() const {
    switch (c_.activation) {
      case Activation::gelu:
        return Act::gelu;
      case Activation::squared_relu:
        return Act::squared_relu;
      default:
        return Act::gelu_tanh;
    }
  }

  Value logits(Value x, Value table) {
    b_.set_tag("head");
    const Value h = enter(norm("decoder.final_layernorm", x));
    if (c_.untie_embeddings_and_output_weights)
      table = param("output_layer.weight", {c_.padded_vocab_size, c_.hidden_size}, c_.init_method_std);
    return einsum(b_, "sbh,vh->sbv", h, table);
  }

  void loss(Value x, Value table) {
    out_.logits = logits(x, table);
    b_.set_tag("loss");
    const Value labels = data("labels", DType::i32), mask = data("loss_mask", accum_of(shape_.dtype)), l = out_.logits;
    const auto& tp = tensor_parallel_axes();
    const Value m = b_.relayout(b_.add1(VocabMax{c_.vocab_size}, {l}), tp, kSame);
    const Value z = b_.relayout(b_.add1(VocabSums{c_.vocab_size}, {l, labels, m}), tp, kSame);
    out_.loss = einsum(b_, "sb,sb->", b_.add1(CrossEntropy{}, {z}), mask);
    out_.tokens = b_.add1(Sum{"sb->", accum_of(shape_.dtype)}, {mask});
  }

  Builder& b_;
  const ModelConfig& c_;
  const GptShape& shape_;
  const ParallelStyle& style_;
  GptPiece piece_;
  i64 seq_;
  i64 cache_length_ = 0;  // 0: training or evaluation
  Value rows_, length_;
  Gpt out_;
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
