#include "ckpt/hf/hf_mapping.h"

#include <array>
#include <unordered_map>

#include "base/check.h"

namespace megalith {
namespace {

// A family's words for the parts of a layer; "" where it has no such part.
struct LayerNames {
  std::string layer, input_norm, mlp_norm, proj, fc1, fc2;
};

class Builder {
 public:
  Builder(HfFamily family, const ModelConfig& model) : family_(family), m_(model) {}

  HfMapping build() {
    add_embeddings();
    for (i64 n = 0; n < m_.num_layers; ++n) add_layer(n);
    add_head();
    return std::move(map_);
  }

 private:
  bool is(HfFamily family) const { return family_ == family; }
  bool llama_like() const { return family_ >= HfFamily::llama && family_ <= HfFamily::qwen3; }

  std::size_t theirs(const std::string& name, const Shape& shape) {
    const auto [it, added] = their_index_.emplace(name, map_.theirs.size());
    if (added) map_.theirs.push_back({name, shape});
    return it->second;
  }
  std::size_t ours(const std::string& name, const Shape& shape) {
    const auto [it, added] = our_index_.emplace(name, map_.ours.size());
    if (added) map_.ours.push_back({name, shape});
    return it->second;
  }
  void link(std::size_t their, std::size_t our, const Strides& block) { map_.links.push_back({their, our, block}); }

  // The same elements in the same order.
  void flat(const std::string& their, const Shape& their_shape, const std::string& our, const Shape& our_shape) {
    link(theirs(their, their_shape), ours(our, our_shape), Strides::flat(count(our_shape)));
  }
  // `our` as rows x columns; theirs is columns x rows for Conv1D.
  void linear(const std::string& their, const std::string& our, const Shape& our_shape, i64 rows, i64 columns) {
    if (!is(HfFamily::gpt2)) return flat(their, {rows, columns}, our, our_shape);
    link(theirs(their, {columns, rows}), ours(our, our_shape),
         {.size = {1, rows, columns}, .ours = {0, columns, 1}, .theirs = {0, 1, rows}});
  }
  void norm(const std::string& their, const std::string& our) {
    vector(their + ".weight", our + ".weight", m_.hidden_size);
    if (m_.normalization == Normalization::layer_norm) vector(their + ".bias", our + ".bias", m_.hidden_size);
  }
  void vector(const std::string& their, const std::string& our, i64 n) { flat(their, {n}, our, {n}); }

  void add_embeddings();
  void add_layer(i64 n);
  void add_attention(const LayerNames& names, const std::string& our);
  void add_separate_qkv(const std::string& their, const std::string& our);
  void add_fused_qkv(const std::string& their, const std::string& our, bool bias);
  void add_mlp(const LayerNames& names, const std::string& our);
  void add_head();
  LayerNames layer_names(i64 n) const;

  HfFamily family_;
  const ModelConfig& m_;
  HfMapping map_;
  std::unordered_map<std::string, std::size_t> their_index_, our_index_;
};

void Builder::add_embeddings() {
  const i64 h = m_.hidden_size;
  map_.prefix = llama_like() ? "model." : is(HfFamily::gpt_neox) ? "gpt_neox." : "transformer.";
  const char* word = llama_like() ? "embed_tokens" : is(HfFamily::gpt_neox) ? "embed_in" : "word_embeddings";
  map_.embedding = map_.prefix + (is(HfFamily::gpt2) ? "wte" : word) + ".weight";
  map_.head = is(HfFamily::gpt_neox) ? "embed_out.weight" : "lm_head.weight";
  const Shape words = {m_.vocab_size, h}, positions = {m_.max_position_embeddings, h};
  flat(map_.embedding, words, "embedding.word_embeddings.weight", words);
  if (m_.position_embedding_type == PositionEmbedding::learned_absolute)
    flat(map_.prefix + "wpe.weight", positions, "embedding.position_embeddings.weight", positions);
  if (m_.embedding_layernorm) norm(map_.prefix + "word_embeddings_layernorm", "embedding.layernorm");
}

LayerNames Builder::layer_names(i64 n) const {
  const std::string at =
      map_.prefix + (llama_like() || is(HfFamily::gpt_neox) ? "layers." : "h.") + std::to_string(n) + ".";
  if (is(HfFamily::gpt2)) return {at, at + "ln_1", at + "ln_2", at + "attn.c_proj", at + "mlp.c_fc", at + "mlp.c_proj"};
  if (llama_like())
    return {at, at + "input_layernorm", at + "post_attention_layernorm", at + "self_attn.o_proj",
            "", at + "mlp.down_proj"};
  const bool two_norms = is(HfFamily::falcon) && m_.parallel_residual && !m_.parallel_shared_norm;
  return {at,
          at + (two_norms ? "ln_attn" : "input_layernorm"),
          at + (two_norms ? "ln_mlp" : "post_attention_layernorm"),
          at + (is(HfFamily::gpt_neox) ? "attention.dense" : "self_attention.dense"),
          at + "mlp.dense_h_to_4h",
          at + "mlp.dense_4h_to_h"};
}

void Builder::add_layer(i64 n) {
  const LayerNames names = layer_names(n);
  const std::string our = "decoder.layers." + std::to_string(n) + ".";
  norm(names.input_norm, our + "input_layernorm");
  add_attention(names, our + "self_attention.");
  if (!(m_.parallel_residual && m_.parallel_shared_norm)) norm(names.mlp_norm, our + "pre_mlp_layernorm");
  add_mlp(names, our + "mlp.");
}

void Builder::add_attention(const LayerNames& names, const std::string& our) {
  const i64 g = m_.groups(), r = m_.heads_per_group(), d = m_.kv_channels, h = m_.hidden_size;
  if (llama_like()) {
    add_separate_qkv(names.layer + "self_attn.", our);
  } else {
    const char* attention = is(HfFamily::gpt2)       ? "attn.c_attn"
                            : is(HfFamily::gpt_neox) ? "attention.query_key_value"
                                                     : "self_attention.query_key_value";
    add_fused_qkv(names.layer + attention + ".weight", our, false);
    if (m_.qkv_bias()) add_fused_qkv(names.layer + attention + ".bias", our, true);
  }
  if (m_.qk_layernorm) {
    vector(names.layer + "self_attn.q_norm.weight", our + "q_layernorm.weight", d);
    vector(names.layer + "self_attn.k_norm.weight", our + "k_layernorm.weight", d);
  }
  linear(names.proj + ".weight", our + "linear_proj.weight", {h, g, r, d}, h, g * r * d);
  if (m_.attention_bias()) vector(names.proj + ".bias", our + "linear_proj.bias", h);
}

void Builder::add_separate_qkv(const std::string& their, const std::string& our) {
  const i64 g = m_.groups(), r = m_.heads_per_group(), d = m_.kv_channels, h = m_.hidden_size;
  for (const char* part : {"q", "k", "v"}) {
    const bool query = *part == 'q';
    const std::string name = their + part + "_proj", logical = our + "linear_" + part;
    const Shape heads = query ? Shape{g, r, d} : Shape{g, d};
    Shape weight = heads;
    weight.push_back(h);
    flat(name + ".weight", {count(heads), h}, logical + ".weight", weight);
    if (m_.qkv_bias()) flat(name + ".bias", {count(heads)}, logical + ".bias", heads);
  }
}

// Rows of [g, r + 2, d]: each group's queries, its key, its value. GPT-2: all queries, all keys, all values,
// transposed.
void Builder::add_fused_qkv(const std::string& their, const std::string& our, bool bias) {
  const i64 g = m_.groups(), r = m_.heads_per_group(), d = m_.kv_channels, h = bias ? 1 : m_.hidden_size;
  const bool thirds = is(HfFamily::gpt2);
  const i64 rows = g * (r + 2) * d;
  const Shape shape = bias ? Shape{rows} : thirds ? Shape{h, rows} : Shape{rows, h};
  const std::size_t fused = theirs(their, shape);
  i64 first_row = 0;  // of this part, in its group (or, for GPT-2, in all)
  for (const char* part : {"q", "k", "v"}) {
    const i64 heads = *part == 'q' ? r : 1, part_rows = heads * d;
    Shape logical = *part == 'q' ? Shape{g, r, d} : Shape{g, d};
    if (!bias) logical.push_back(h);
    Strides block{.size = {g, part_rows, h}, .ours = {part_rows * h, h, 1}, .theirs = {(r + 2) * d * h, h, 1}};
    block.their_start = first_row * h;
    if (thirds) {
      block.theirs = {part_rows, 1, rows};
      block.their_start = first_row;
    }
    link(fused, ours(our + "linear_" + part + (bias ? ".bias" : ".weight"), logical), block);
    first_row += thirds ? g * part_rows : part_rows;
  }
}

void Builder::add_mlp(const LayerNames& names, const std::string& our) {
  const i64 h = m_.hidden_size, f = m_.ffn_hidden_size;
  if (m_.gated()) {
    for (const i64 half : {0, 1}) {
      const std::string name = names.layer + (half == 0 ? "mlp.gate_proj" : "mlp.up_proj");
      Strides weight = Strides::flat(f * h), bias = Strides::flat(f);
      weight.our_start = half * f * h;
      bias.our_start = half * f;
      link(theirs(name + ".weight", {f, h}), ours(our + "linear_fc1.weight", {2, f, h}), weight);
      if (m_.mlp_bias()) link(theirs(name + ".bias", {f}), ours(our + "linear_fc1.bias", {2, f}), bias);
    }
  } else {
    linear(names.fc1 + ".weight", our + "linear_fc1.weight", {f, h}, f, h);
    if (m_.mlp_bias()) vector(names.fc1 + ".bias", our + "linear_fc1.bias", f);
  }
  linear(names.fc2 + ".weight", our + "linear_fc2.weight", {h, f}, h, f);
  if (m_.mlp_bias()) vector(names.fc2 + ".bias", our + "linear_fc2.bias", h);
}

void Builder::add_head() {
  const char* name = llama_like() ? "norm" : is(HfFamily::gpt_neox) ? "final_layer_norm" : "ln_f";
  norm(map_.prefix + name, "decoder.final_layernorm");
  const Shape shape = {m_.vocab_size, m_.hidden_size};
  if (m_.untie_embeddings_and_output_weights) flat(map_.head, shape, "output_layer.weight", shape);
}

}  // namespace

HfMapping hf_mapping(HfFamily family, const ModelConfig& model) {
  check(model.num_query_groups > 0 && model.kv_channels > 0 && model.ffn_hidden_size > 0 && model.vocab_size > 0,
        "[hf] a model with unresolved sizes has no mapping");
  return Builder(family, model).build();
}

std::vector<std::string> spellings(const HfMapping& mapping, const std::string& name) {
  if (name == mapping.head) {
    const std::string other = name == "lm_head.weight" ? "embed_out.weight" : "lm_head.weight";
    return {name, other, mapping.prefix + name, mapping.prefix + other};
  }
  if (name.starts_with(mapping.prefix)) return {name, name.substr(mapping.prefix.size())};
  return {name};
}

bool is_ignored_buffer(const std::string& name) {
  for (const char* end :
       {".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"})
    if (name.ends_with(end)) return true;
  return false;
}

}  // namespace megalith
