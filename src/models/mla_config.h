// Sizes of multi-head latent attention (DeepSeek-V2, arXiv 2405.04434). Names and meanings are Megatron's flags.
#pragma once
#include "base/dtype.h"

namespace megalith {

namespace config {
class FieldList;
}

// Keys and values are made from one short vector a token, the latent. Queries may be made from a second one. Each head
// has a part without positions and a rotated part. All heads share the key of the rotated part.
struct MlaConfig {
  bool multi_latent_attention = false;
  i64 q_lora_rank = 0;           // width of the queries' latent; 0: none, queries are made from the input
  i64 kv_lora_rank = 32;         // width of the latent of keys and values
  i64 qk_head_dim = 128;         // width of the part without positions, in a head of q and k
  i64 qk_pos_emb_head_dim = 64;  // width of the rotated part
  i64 v_head_dim = 128;
  double norm_epsilon = 0;  // of the latents' norms; 0: as in the model

  bool on() const { return multi_latent_attention; }
  i64 head() const { return qk_head_dim + qk_pos_emb_head_dim; }  // width of q and k
  bool operator==(const MlaConfig&) const = default;
};

void list_fields(MlaConfig& c, config::FieldList& f);

}  // namespace megalith
