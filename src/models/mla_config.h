// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434), in numbers. Names and meanings are Megatron's flags.
#pragma once
#include "base/dtype.h"

namespace megalith {

namespace config {
class FieldList;
}

// Keys and values are made from one short vector a token, the latent; queries may be made from another one. Each head
// has a part without positions, and one that turns, whose key all heads share.
struct MlaConfig {
  bool multi_latent_attention = false;
  i64 q_lora_rank = 0;           // width of the queries' latent; 0: none, queries are made from the input
  i64 kv_lora_rank = 32;         // width of the latent of keys and values
  i64 qk_head_dim = 128;         // of a head of q and k, the part without positions
  i64 qk_pos_emb_head_dim = 64;  // and the part that turns
  i64 v_head_dim = 128;
  double norm_epsilon = 0;  // of the latents' norms; 0: the model's

  bool on() const { return multi_latent_attention; }
  i64 head() const { return qk_head_dim + qk_pos_emb_head_dim; }  // of q and k
  bool operator==(const MlaConfig&) const = default;
};

void list_fields(MlaConfig& c, config::FieldList& f);

}  // namespace megalith
