// Maps the elements of a Hugging Face model to ours. The whole mapping is data: a list of links, each a
// strided block that a tensor of a file shares with a logical parameter. Conv1D's transposition, fused query-key-value
// weights, packed gate and up, and plain copies differ only in strides. Each link serves both directions.
//
//   HF                               ours                              link
//   q_proj [g*r*d, h]                linear_q [g, r, d, h]             flat
//   o_proj [h, g*r*d]                linear_proj [h, g, r, d]          flat
//   gate_proj, up_proj [f, h]        linear_fc1 [2, f, h]              flat, at 0 and at f*h
//   experts.E gate, up, down         experts' linear_fc1 [e, 2, f, h]  flat, at 2*E*f*h and behind it
//   query_key_value [g*(r+2)*d, h]   linear_q, linear_k, linear_v      slices of each group (neox and BLOOM: r = 1)
//   c_attn [h, 3*h]                  linear_q, linear_k, linear_v      transposed thirds
#pragma once
#include <string>
#include <vector>

#include "ckpt/hf/families/family.h"
#include "ckpt/tensors/mapped_tensors.h"

namespace megalith {

// The two names of the bias of BERT's logits. Untied, it is the second one that counts.
inline constexpr std::string_view kBertBias = "cls.predictions.bias", kBertHeadBias = "cls.predictions.decoder.bias";

struct HfMapping : TensorMapping {
  std::string prefix;  // which some files leave out of the names: "transformer.", "model.", ...
  std::string head;    // name of the output head's tensor, also when tied
  std::string embedding;
};

// Names and shapes for a resolved model; vocabulary rows are the true ones.
HfMapping hf_mapping(const HfFamily& family, const ModelConfig& model);

// For writing: with both names of the logits' bias in an untied BERT. transformers needs both.
HfMapping hf_written_mapping(const HfFamily& family, const ModelConfig& model);

// For an encoder-decoder (t5_mapping.cpp); the other two call it.
HfMapping hf_t5_mapping(const ModelConfig& model);

// The same as transformers 5 names its parameters in memory, and so their gradients: experts are fused.
HfMapping hf_parameter_mapping(const HfFamily& family, const ModelConfig& model);

// Names that a tensor may go by in files: the mapping's, the one without prefix, and for the head those of all families
// (transformers itself has renamed gpt_neox's).
std::vector<std::string> spellings(const HfMapping& mapping, const std::string& name);

std::vector<std::string> hf_head_names();  // of all families

// Tensors in old files that are not weights (causal masks, rotary frequencies).
bool is_ignored_buffer(const std::string& name);

}  // namespace megalith
