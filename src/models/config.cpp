#include "models/config.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "config/field.h"

namespace megalith {
namespace {

// Megatron's pair (left, right): keys before and after the query. The query itself does not count, so W,0 is a window
// of W + 1 keys.
std::string window_of_pair(std::string_view text) {
  std::string pair;
  for (const char c : text)
    if (c != '(' && c != ')' && c != ' ') pair += c;
  const size_t comma = pair.find(',');
  i64 left = 0;
  const char* const end_of_left = pair.data() + std::min(comma, pair.size());
  const auto [end, code] = std::from_chars(pair.data(), end_of_left, left);
  const bool number = code == std::errc() && end == end_of_left && left >= -1 && left < (i64(1) << 40);
  check(number && comma != std::string::npos && pair.substr(comma) == ",0",
        "'{}' is not of the form W,0 (W keys before the query, none after it; W -1: all before it)", text);
  return std::to_string(left + 1);
}

constexpr const char* kArchitectures[] = {"gpt", "bert", "t5", "retro"};

void list_sizes(ModelConfig& c, config::FieldList& f) {
  f.group("Model sizes");
  f.add("architecture", c.architecture, {std::begin(kArchitectures), std::end(kArchitectures)},
        "Kind of model, which the training command sets. Not in Megatron.");
  f.add("num-layers", c.num_layers, "Transformer layers (required).");
  f.add("hidden-size", c.hidden_size, "Width of the residual stream (required).");
  f.add("ffn-hidden-size", c.ffn_hidden_size,
        "Width inside the MLP; 0: 4 x hidden-size, with --swiglu two thirds of it in steps of 64.");
  f.add("num-attention-heads", c.num_attention_heads, "Query heads (required).");
  f.add("num-query-groups", c.num_query_groups, "Key/value heads; 0: one for each query head.")
      .also(config::Spelling{.flag = "--group-query-attention",
                             .constant = "1",
                             .weak = true,
                             .help = "grouped-query attention; one group unless --num-query-groups is given"});
  f.add("kv-channels", c.kv_channels, "Width of a head; 0: hidden-size / num-attention-heads.");
  f.add("seq-length", c.seq_length, "Tokens in a training sequence (required).");
  f.add("max-position-embeddings", c.max_position_embeddings, "Longest sequence; 0: seq-length.").there_is("required");
  f.add("vocab-size", c.vocab_size, "Number of tokens; 0: from the tokenizer.");
  f.add("make-vocab-size-divisible-by", c.make_vocab_size_divisible_by,
        "The embedding table in memory has a multiple of this many rows.")
      .means("--no-pad-vocab-size", "1");
  f.add("padded-vocab-size", c.padded_vocab_size,
        "Rows of the embedding table in memory; 0: from make-vocab-size-divisible-by.");
}

// Replaces names that BigScience's program used.
std::string positions_today(std::string_view name) {
  if (name == "rotary") return "rope";
  return std::string(name == "absolute" ? "learned_absolute" : name);
}

void list_positions(ModelConfig& c, config::FieldList& f) {
  f.group("Positions");
  f.add("position-embedding-type", c.position_embedding_type,
        {"learned_absolute", "rope", "alibi", "none", "yarn", "relative"},
        "How positions enter the model; yarn: rope with --rope-scaling-type yarn; relative: of a T5, a bias of "
        "attention's scores by the bucket of the distance.")
      .means("--use-rotary-position-embeddings", "rope")
      .also(config::Spelling{.flag = "--no-position-embedding",
                             .constant = "none",
                             .weak = true,
                             .help = "an old spelling of none; with another kind it has no effect"})
      .spellings.front()
      .convert = positions_today;
  f.add("scale-alibi", c.scale_alibi,
        "ALiBi's bias is also divided by the square root of --kv-channels, and kept in bf16, as in Falcon. Not in "
        "Megatron.");
  f.add("rotary-base", c.rotary_base, "Base of the rotary frequencies.");
  f.add("rotary-percent", c.rotary_percent, "Part of each head that is rotated.");
  f.add("rotary-interleaved", c.rotary_interleaved, "Rotate pairs of neighbours, not the two halves of a head.");
  f.add("rotary-seq-len-interpolation-factor", c.rotary_seq_len_interpolation_factor, "Positions are divided by this.");
  f.add("sliding-window", c.sliding_window, "A query sees this many keys, itself included; 0: all before it.")
      .also(config::Spelling{
          .flag = "--window-size",
          .convert = window_of_pair,
          .help = "Megatron's form: W keys before the query and itself, so W,0 is --sliding-window W+1; -1,0: all",
          .metavar = "W,0"});
}

void list_layers(ModelConfig& c, config::FieldList& f) {
  f.group("Layers");
  f.add("activation", c.activation, {"gelu", "gelu_tanh", "swiglu", "squared_relu", "geglu", "quick_geglu", "relu"},
        "Activation of the MLP: gelu is exact (erf), gelu_tanh its tanh approximation, which Megatron's fused default "
        "is too.")
      .means("--swiglu", "swiglu", "gated MLP with SiLU; also changes the default of --ffn-hidden-size")
      .means("--geglu", "geglu", "gated MLP with GELU's tanh approximation (Gemma). Not in Megatron")
      .means("--quick-geglu", "quick_geglu", "gated MLP with x * logistic(1.702 x)")
      .means("--squared-relu", "squared_relu")
      .means("--gelu", "gelu", "exact GELU")
      .means("--gelu-tanh", "gelu_tanh", "GELU's tanh approximation (the default)")
      .means("--openai-gelu", "gelu_tanh");
  f.add("normalization", c.normalization, {"LayerNorm", "RMSNorm"}, "Kind of all norms.");
  f.add("norm-epsilon", c.norm_epsilon, "Added to the variance in norms.").also("--layernorm-epsilon");
  f.add("apply-layernorm-1p", c.apply_layernorm_1p, "Norms scale by 1 + their weights, which start at 0 (Gemma).");
  f.add("norm-block-output", c.norm_block_output,
        "Norms of the outputs of attention and the MLP, not of their inputs: x + norm(attention(x)) (OLMo 2). Not in "
        "Megatron.");
  f.add("qk-layernorm", c.qk_layernorm, "Norm of each head's query and key, before the rotation.");
  f.add("qk-layernorm-across-heads", c.qk_layernorm_across_heads,
        "With --qk-layernorm: one norm of all heads' queries and one of all keys (OLMo 2). Not in Megatron.");
  f.add("embedding-layernorm", c.embedding_layernorm, "LayerNorm after the embedding (BLOOM). Not in Megatron.");
  f.add("scale-embedding", c.scale_embedding,
        "The embedding of words times the square root of --hidden-size (Gemma). Not in Megatron.");
  f.add_on("add-bias-linear", c.add_bias_linear, "No biases in linear layers.").means("--disable-bias-linear", "false");
  f.add("add-qkv-bias", c.add_qkv_bias, "Biases on query, key and value although --disable-bias-linear is given.");
  f.add("add-attention-bias", c.add_attention_bias,
        "Biases on query, key, value and the attention's output although --disable-bias-linear is given. Not in "
        "Megatron.");
  f.add("add-mlp-bias", c.add_mlp_bias,
        "Biases on the MLP's linears although --disable-bias-linear is given. Not in Megatron.");
  f.add("untie-embeddings-and-output-weights", c.untie_embeddings_and_output_weights,
        "The output layer has its own weights.");
  f.add("fp32-residual-connection", c.fp32_residual_connection,
        "With --bf16 or --fp16: the residual stream and its gradients are f32.");
  f.add("parallel-residual", c.parallel_residual,
        "x + attention(norm1(x)) + mlp(norm2(x)), as in GPT-NeoX. Not in Megatron.");
  f.add("parallel-shared-norm", c.parallel_shared_norm,
        "With --parallel-residual: norm2 is norm1 (Falcon 7B). Not in Megatron.");
  f.group("Dropout and initialisation");
  f.add("attention-dropout", c.attention_dropout, "Dropout of attention weights.").there_is("0.1");
  f.add("hidden-dropout", c.hidden_dropout,
        "Dropout of the embedding and of each layer's output before it is added to the residual stream.")
      .there_is("0.1");
  f.add("init-method-std", c.init_method_std,
        "Deviation of initial weights; output projections: divided by sqrt(2 x num-layers).");
  f.add("embedding-init-method-std", c.embedding_init_method_std,
        "Deviation of the initial embeddings of words and positions; 0: init-method-std.");
  f.add("init-method-xavier-uniform", c.init_method_xavier_uniform,
        "Initial matrices are uniform within sqrt(6 / (rows + columns)), output projections too.");
}

}  // namespace

std::string_view name_of(Architecture a) {
  constexpr std::string_view names[] = {"GPT", "BERT", "T5", "RETRO"};
  static_assert(std::size(names) == std::size(kArchitectures));
  return names[size_t(a)];
}

i64 padded_vocab(i64 vocab_size, i64 divisible_by, i64 tensor_model_parallel_size) {
  const i64 multiple = divisible_by * tensor_model_parallel_size;
  return (vocab_size + multiple - 1) / multiple * multiple;
}

void ModelConfig::resolve(i64 tensor_model_parallel_size) {
  constexpr i64 kLargest = i64(1) << 40;  // larger sizes enter no formula: the compatibility rules refuse them
  const auto usable = [](i64 size) { return size > 0 && size <= kLargest; };
  if (ffn_hidden_size == 0 && usable(hidden_size))
    ffn_hidden_size =
        activation == Activation::swiglu ? i64(double(4 * hidden_size) * 2 / 3 / 64) * 64 : 4 * hidden_size;
  if (num_query_groups == 0) num_query_groups = num_attention_heads;
  // Scripts of Megatron-DeepSpeed give a dense model one expert. With other settings of experts one expert is a
  // mixture.
  if (moe == MoeConfig{.num_experts = 1}) moe.num_experts = 0;
  if (kv_channels == 0 && mla.on()) kv_channels = mla.head();
  if (kv_channels == 0 && usable(num_attention_heads) && hidden_size % num_attention_heads == 0)
    kv_channels = hidden_size / num_attention_heads;
  if (architecture == Architecture::bert && bert.token_types == -1) bert.token_types = bert.binary_head() ? 2 : 0;
  if (is_t5() && t5.decoder_num_layers == 0) t5.decoder_num_layers = num_layers;
  if (max_position_embeddings == 0)
    max_position_embeddings =
        std::max({seq_length, t5.decoder_seq_length, retrieves() ? retro.retrieved_length() : i64(0)});
  if (position_embedding_type == PositionEmbedding::yarn)
    position_embedding_type = PositionEmbedding::rope, rope_scaling.kind = RopeScaling::Kind::yarn;
  megalith::resolve(rope_scaling, mla.on(), max_position_embeddings);
  if (padded_vocab_size == 0 && usable(vocab_size) && usable(make_vocab_size_divisible_by) &&
      usable(tensor_model_parallel_size) && make_vocab_size_divisible_by <= kLargest / tensor_model_parallel_size)
    padded_vocab_size = padded_vocab(vocab_size, make_vocab_size_divisible_by, tensor_model_parallel_size);
}

void list_fields(ModelConfig& c, config::FieldList& f) {
  list_sizes(c, f);
  list_positions(c, f);
  list_layers(c, f);
  list_fields(c.rope_scaling, f);
  list_fields(c.mla, f);
  list_fields(c.moe, f);
  list_fields(c.mtp, f);
  list_fields(c.bert, f);
  list_fields(c.t5, f);
  list_fields(c.retro, f);
}

}  // namespace megalith
