// Names of parameters in other versions and layer implementations of Megatron-LM.
#include <string_view>

#include "ckpt/torch/megatron_mapping.h"

namespace megalith {
namespace {

struct Rename {
  std::string_view from, to;
};
constexpr Rename kEnds[] = {{".mtp_model_layer.", ".transformer_layer."},
                            {".input_layernorm.", ".self_attention.linear_qkv.layer_norm_"},
                            {".input_norm.", ".self_attention.linear_qkv.layer_norm_"},
                            {".pre_mlp_layernorm.", ".mlp.linear_fc1.layer_norm_"},
                            {".post_attention_layernorm.", ".mlp.linear_fc1.layer_norm_"},
                            {".post_attention_norm.", ".mlp.linear_fc1.layer_norm_"},
                            {".self_attention.query_key_value.", ".self_attention.linear_qkv."},
                            {".self_attention.dense.", ".self_attention.linear_proj."},
                            {".mlp.dense_h_to_4h.", ".mlp.linear_fc1."},
                            {".mlp.dense_4h_to_h.", ".mlp.linear_fc2."},
                            {".final_norm.", ".final_layernorm."}};
constexpr Rename kBegins[] = {{"language_model.", ""},
                              {"encoder.", "decoder."},
                              {"transformer.", "decoder."},
                              {"decoder.final_norm.", "decoder.final_layernorm."},
                              {"word_embeddings_for_head.", "output_layer."}};

}  // namespace

std::string canonical_megatron_name(const std::string& name, bool has_encoder) {
  std::string result = name;
  for (const Rename& r : kBegins)
    if (result.starts_with(r.from) && !(has_encoder && r.from == "encoder.")) result.replace(0, r.from.size(), r.to);
  for (const Rename& r : kEnds)
    if (const auto at = result.find(r.from); at != std::string::npos) result.replace(at, r.from.size(), r.to);
  return result;
}

}  // namespace megalith
