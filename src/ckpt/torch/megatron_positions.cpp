// Reads position settings of a Megatron checkpoint's arguments: rope, its scaling, and YaRN.
#include "ckpt/torch/megatron_arg_values.h"

namespace megalith {

namespace {

// Of ordinary attention.
void read_yarn(const Args& a, RopeScaling& s) {
  s.kind = RopeScaling::Kind::yarn;
  s.factor = a.number("yarn_rotary_scaling_factor").value_or(1);
  s.original_length = a.size("yarn_original_max_position_embeddings").value_or(4096);
  s.beta_fast = a.number("yarn_beta_fast").value_or(32), s.beta_slow = a.number("yarn_beta_slow").value_or(1);
  s.mscale = a.number("yarn_mscale").value_or(1), s.mscale_all_dim = a.number("yarn_mscale_all_dim").value_or(0);
  s.whole_ends = a.flag("yarn_correction_range_round_to_int").value_or(true);
}

// Of multi-head latent attention. Its factor is 1 on Megatron's command line and 40 in its library.
void read_latent_yarn(const Args& a, RopeScaling& s) {
  const std::string type = a.text("rope_type");
  check(type.empty() || type == "yarn" || type == "rope", "[megatron] rope_type {} is not built; rope and yarn are",
        type);
  s.kind = type == "rope" ? RopeScaling::Kind::none : RopeScaling::Kind::yarn;
  s.factor = a.number("rotary_scaling_factor").value_or(40);
  s.original_length = a.size("original_max_position_embeddings").value_or(4096);
  s.beta_fast = a.number("beta_fast").value_or(32), s.beta_slow = a.number("beta_slow").value_or(1);
  s.mscale = a.number("mscale").value_or(1), s.mscale_all_dim = a.number("mscale_all_dim").value_or(0);
}

void read_rope_scaling(const Args& a, bool yarn, ModelConfig& m) {
  RopeScaling& s = m.rope_scaling;
  s.kind = RopeScaling::Kind::none;
  if (m.mla.on()) return read_latent_yarn(a, s);
  if (yarn) return read_yarn(a, s);
  if (!a.flag("use_rope_scaling").value_or(false)) return;
  s.kind = RopeScaling::Kind::llama3, s.factor = a.number("rope_scaling_factor").value_or(8);
}

}  // namespace

void read_latent_attention(const Args& a, MlaConfig& m) {
  m.multi_latent_attention = a.flag("multi_latent_attention").value_or(false);
  if (!m.on()) return;
  m.q_lora_rank = a.size("q_lora_rank").value_or(0);
  m.kv_lora_rank = a.required("kv_lora_rank"), m.qk_head_dim = a.required("qk_head_dim");
  m.qk_pos_emb_head_dim = a.required("qk_pos_emb_head_dim"), m.v_head_dim = a.required("v_head_dim");
}

void read_positions(const Args& a, const HasTensor& has, ModelConfig& m) {
  const std::string type = a.text("position_embedding_type");
  const bool yarn = type == "yarn";
  const bool rope = type == "rope" || yarn || a.flag("use_rotary_position_embeddings").value_or(false);
  const bool relative = type == "relative" && m.is_t5();
  check(type.empty() || rope || relative || type == "learned_absolute" || type == "none",
        "[megatron] position_embedding_type {} is not built; rope, yarn, learned_absolute and none are", type);
  m.position_embedding_type = rope                                          ? PositionEmbedding::rope
                              : relative                                    ? PositionEmbedding::relative
                              : has("embedding.position_embeddings.weight") ? PositionEmbedding::learned_absolute
                                                                            : PositionEmbedding::none;
  m.rotary_base = a.number("rotary_base").value_or(10000);
  m.rotary_percent = a.number("rotary_percent").value_or(1);
  m.rotary_interleaved = a.flag("rotary_interleaved").value_or(false);
  m.rotary_seq_len_interpolation_factor = a.number("rotary_seq_len_interpolation_factor").value_or(1);
  read_rope_scaling(a, yarn, m);
  const PickleValue* window = a.find("window_size");
  if (window != nullptr && window->sequence() != nullptr && !window->sequence()->empty()) {
    const i64 left = pickle_integer(window->sequence()->front(), "[megatron] the argument window_size");
    m.sliding_window = left < 0 ? 0 : left + 1;  // the query itself comes on top there
  }
}

}  // namespace megalith
