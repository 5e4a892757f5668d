// Which numbers of Megatron-LM's parameters (mcore GPTModel) are which numbers of ours.
//
//   Megatron                                          ours                                   link
//   linear_qkv [g*(r+2)*d, h]                         linear_q, linear_k, linear_v           slices of each group
//   linear_qkv.layer_norm_weight [h]                  input_layernorm.weight                 flat
//   mlp.linear_fc1 [2f, h] (gates, then ups)          linear_fc1 [2, f, h]                   flat
//   mlp.experts.experts.linear_fc1 [e, 2f, h]         mlp.experts.linear_fc1 [e, 2, f, h]    flat
//   mlp.experts.local_experts.I.linear_fc1 [2f, h]    the same, of experts apart             flat, one of e
//   mlp.experts.experts.I.linear_fc1.weight_w, _v     the same, of gates and ups apart too   flat, halves of one
//   mtp.layers.J.eh_proj [h, 2h]                      eh_proj_embedding, eh_proj_hidden      halves of each row
//   embedding.word_embeddings [padded V, h]           [V, h]                                 the first V rows
//   linear_q_up_proj [a*(dn+dr), rq] and so on        [a, 1, dn+dr, rq]                      flat: the same rows
//   cross_attention.linear_kv [g*2*d, h]              linear_k, linear_v                     slices of each group
//   relative_attention_bias [k, g*r]                  [g, r, k]                              transposed
//
// Layers stand side by side in one tensor, decoder.layers.REST [L, ...], or each has its own, decoder.layers.N.REST.
// Modules of multi-token prediction always have their own, mtp.layers.J.REST. A T5 also has encoder.layers. What
// Megatron has no word for (BLOOM's norm of the embedding) keeps our name.
#pragma once
#include <functional>

#include "ckpt/tensors/mapped_tensors.h"
#include "models/config.h"

namespace megalith {

enum class MegatronLayers { stacked, separate };
// A layer's in one tensor, as in torch_dist; each by itself; or as torch_dist has them with singleton_local_shards:
// each by itself, and gates and ups of every MLP apart.
enum class MegatronExperts { joined, apart, singleton };

// How torch_dist has a model's layers: side by side where all are alike.
MegatronLayers megatron_layers(const ModelConfig& model);

// Whether the checkpoint has a tensor, by Megatron's name.
using HasTensor = std::function<bool(const std::string& name)>;

// `rows`: of the embedding and the output layer there; at least model.vocab_size. If layer implementations name a
// tensor differently, the name in the files counts; without `has` transformer-engine's. Experts that are not joined
// need separate layers.
TensorMapping megatron_mapping(const ModelConfig& model, MegatronLayers layers, i64 rows, const HasTensor& has = {},
                               MegatronExperts experts = MegatronExperts::joined);

// T5's class registers some parameters twice, so its checkpoints have them under two names. Returns the second name;
// "": there is none.
std::string second_megatron_name(const ModelConfig& model, const std::string& name);
// The optimizer's state uses only the second name, if there is one.
std::string megatron_state_name(const ModelConfig& model, const std::string& name);
TensorMapping with_state_names(const ModelConfig& model, TensorMapping mapping);
// For writing: with these tensors too.
TensorMapping with_second_names(const ModelConfig& model, TensorMapping mapping);

// The links of trained parameters, and of other state (router biases, always f32).
TensorMapping trained_part(const ModelConfig& model, const TensorMapping& mapping);
TensorMapping untrained_part(const ModelConfig& model, const TensorMapping& mapping);
inline constexpr std::string_view kRouterBias = ".router.expert_bias";

inline constexpr const char* kBertHead = "lm_head.dense.weight";  // only BERT has it

// A parameter's name in transformer-engine layers. Other layer implementations, and versions before Megatron Core, use
// other names for some. `has_encoder`: there are an encoder and a decoder; else "encoder" is another name of the
// decoder.
std::string canonical_megatron_name(const std::string& name, bool has_encoder = false);

}  // namespace megalith
