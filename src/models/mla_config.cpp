#include "models/mla_config.h"

#include "config/field.h"

namespace megalith {

void list_fields(MlaConfig& c, config::FieldList& f) {
  f.group("Multi-head latent attention");
  f.add("multi-latent-attention", c.multi_latent_attention,
        "Keys and values are made from one latent vector a token (DeepSeek).");
  f.add("q-lora-rank", c.q_lora_rank, "Width of the queries' latent; 0: queries are made from the layer's input.");
  f.add("kv-lora-rank", c.kv_lora_rank, "Width of the latent of keys and values.");
  f.add("qk-head-dim", c.qk_head_dim, "Width of a head of queries and keys, the part without positions.")
      .also("--qk-nope-head-dim");
  f.add("qk-pos-emb-head-dim", c.qk_pos_emb_head_dim, "Width of the rotated part; all heads share its key.")
      .also("--qk-rope-head-dim");
  f.add("v-head-dim", c.v_head_dim, "Width of a head of values.");
  f.add("mla-norm-epsilon", c.norm_epsilon,
        "Added to the variance in the norms of the latents; 0: --norm-epsilon. Not in Megatron.");
}

}  // namespace megalith
