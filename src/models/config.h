// The sizes and options of a model. Names and meanings are Megatron's flags; 0 means "derived" until resolve() fills it
// in.
#pragma once
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "models/bert_config.h"
#include "models/mla_config.h"
#include "models/moe_config.h"
#include "models/mtp_config.h"
#include "models/retro_config.h"
#include "models/rope_config.h"
#include "models/t5_config.h"

namespace megalith {

// The kind of a model, one for each training command: pretrain-gpt trains a gpt.
enum class Architecture : u8 { gpt, bert, t5, retro };
std::string_view name_of(Architecture a);  // "GPT", "BERT", "T5", "RETRO"

// yarn: resolve() replaces it by rope with that scaling. relative: T5's buckets.
enum class PositionEmbedding { learned_absolute, rope, alibi, none, yarn, relative };
// gelu: exact (erf); gelu_tanh: its tanh approximation.
// Gated: swiglu by SiLU, geglu by gelu_tanh, quick_geglu by x * logistic(1.702 x).
enum class Activation { gelu, gelu_tanh, swiglu, squared_relu, geglu, quick_geglu, relu };
enum class Normalization { layer_norm, rms_norm };

struct ModelConfig {
  Architecture architecture = Architecture::gpt;
  i64 num_layers = 0;
  i64 hidden_size = 0;
  i64 ffn_hidden_size = 0;  // 0: 4h, or int(4h * 2/3 / 64) * 64 with swiglu
  i64 num_attention_heads = 0;
  i64 num_query_groups = 0;  // 0: one group a head
  i64 kv_channels = 0;       // head width; 0: hidden_size / num_attention_heads
  i64 seq_length = 0;
  i64 max_position_embeddings = 0;  // 0: seq_length
  i64 vocab_size = 0;               // true size: tokens that exist
  i64 padded_vocab_size = 0;        // rows in memory; 0: vocab_size rounded up by make_vocab_size_divisible_by * tp
  i64 make_vocab_size_divisible_by = 128;

  PositionEmbedding position_embedding_type = PositionEmbedding::learned_absolute;
  bool scale_alibi = false;  // the ALiBi bias is also divided by sqrt(kv_channels), and kept in bf16 (Falcon)
  double rotary_base = 10000;
  double rotary_percent = 1;
  bool rotary_interleaved = false;  // rotates pairs of neighbours, not of halves
  double rotary_seq_len_interpolation_factor = 1;
  RopeScaling rope_scaling = {};

  Activation activation = Activation::gelu_tanh;
  Normalization normalization = Normalization::layer_norm;
  double norm_epsilon = 1e-5;
  bool apply_layernorm_1p = false;         // norms scale by 1 + their weights
  bool norm_block_output = false;          // x + norm(attention(x)), then x + norm(mlp(x)) (OLMo 2)
  bool qk_layernorm = false;               // norm of each head of q and k before rope
  bool qk_layernorm_across_heads = false;  // with it: one norm of all heads of q, one of k (OLMo 2)
  bool embedding_layernorm = false;        // BLOOM: LayerNorm after the embedding
  bool scale_embedding = false;            // Gemma: words times sqrt(hidden_size)
  bool add_bias_linear = true;             // biases on all linears (q, k, v too)
  bool add_qkv_bias = false;               // biases on q, k, v although add_bias_linear is off
  bool add_attention_bias = false;         // the same on q, k, v and the attention's output
  bool add_mlp_bias = false;               // the same on the MLP's linears
  bool untie_embeddings_and_output_weights = false;
  bool fp32_residual_connection = false;  // the residual stream is f32, also if the model computes in bf16
  bool parallel_residual = false;         // x + attention(norm1(x)) + mlp(norm2(x))
  bool parallel_shared_norm = false;      // with parallel_residual: norm2 is norm1 (Falcon 7B)
  i64 sliding_window = 0;                 // number of keys that a query sees, itself included; 0: all before it

  double attention_dropout = 0;
  double hidden_dropout = 0;
  double init_method_std = 0.02;            // output projections: std / sqrt(2 * num_layers)
  double embedding_init_method_std = 0;     // of words and positions; 0: init_method_std
  bool init_method_xavier_uniform = false;  // all matrices by Xavier (Glorot 2010), uniform, instead of normal

  MlaConfig mla = {};
  MoeConfig moe = {};
  MtpConfig mtp = {};
  BertModelConfig bert = {};
  T5ModelConfig t5 = {};
  RetroModelConfig retro = {};

  // Computes members that are 0 by Megatron's formulas; idempotent. A value that cannot be derived stays 0, and the
  // compatibility rules refuse it. An example is the head width if the heads do not divide the hidden size.
  void resolve(i64 tensor_model_parallel_size = 1);

  bool is_t5() const { return architecture == Architecture::t5; }
  bool is_retro() const { return architecture == Architecture::retro; }
  bool retrieves() const { return is_retro() && retro.add_retriever; }
  i64 groups() const { return num_query_groups; }
  i64 heads_per_group() const { return num_attention_heads / num_query_groups; }
  bool gated() const {
    return activation == Activation::swiglu || activation == Activation::geglu || activation == Activation::quick_geglu;
  }
  bool qkv_bias() const { return add_qkv_bias || attention_bias(); }
  bool attention_bias() const { return add_bias_linear || add_attention_bias; }  // for the attention's output
  bool mlp_bias() const { return add_bias_linear || add_mlp_bias; }
  i64 expert_width() const { return moe.ffn_hidden_size ? moe.ffn_hidden_size : ffn_hidden_size; }
  bool operator==(const ModelConfig&) const = default;
};

void list_fields(ModelConfig& c, config::FieldList& f);

// Rows in memory for `vocab_size` tokens: rounded up to a multiple of `divisible_by * tensor_model_parallel_size`.
i64 padded_vocab(i64 vocab_size, i64 divisible_by, i64 tensor_model_parallel_size);

}  // namespace megalith
