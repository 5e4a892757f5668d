#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

constexpr ParallelStyle kPlain{false, Order::block, false}, kSequenceParallel{true, Order::block, false},
    kZigzag{false, Order::zigzag, false}, kSpZigzag{true, Order::zigzag, false}, kAllToAll{false, Order::zigzag, true},
    kSpAllToAll{true, Order::zigzag, true};

using Change = void (*)(TrainingSpec&);

void four_groups(TrainingSpec& s) { s.model.num_query_groups = 4; }
void head_norms(TrainingSpec& s) { s.model.qk_layernorm = true; }
void keep_gathered(TrainingSpec& s) { s.regather = false; }
void parallel(TrainingSpec& s) { s.model.parallel_residual = s.model.parallel_shared_norm = true; }
void two_norms(TrainingSpec& s) { s.model.parallel_residual = true; }
void documents(TrainingSpec& s) { s.documents = true; }
void bloom(TrainingSpec& s) {
  s.model.position_embedding_type = PositionEmbedding::alibi, s.model.embedding_layernorm = true;
}
void neighbours_and_attention_bias(TrainingSpec& s) { s.model.rotary_interleaved = s.model.add_attention_bias = true; }
void mlp_bias(TrainingSpec& s) { s.model.add_mlp_bias = true; }
void gemma(TrainingSpec& s) {
  s.model.apply_layernorm_1p = s.model.scale_embedding = true, s.model.activation = Activation::geglu;
}
void norms_1p(TrainingSpec& s) { s.model.apply_layernorm_1p = true; }
void quick_gates_head_norms_1p(TrainingSpec& s) {
  s.model.apply_layernorm_1p = s.model.qk_layernorm = true, s.model.activation = Activation::quick_geglu;
}
void olmo2(TrainingSpec& s) {
  s.model.norm_block_output = s.model.qk_layernorm = s.model.qk_layernorm_across_heads = true;
}
void predict_on(TrainingSpec& s) {
  s.model.mtp = {.num_layers = 2, .loss_scaling_factor = 0.7};
  s.model.position_embedding_type = PositionEmbedding::rope;  // of a model with learned positions
}
void predict_on_tied(TrainingSpec& s) {
  predict_on(s), s.documents = true;
  s.model.untie_embeddings_and_output_weights = false, s.model.embedding_layernorm = true;
}
void predict_again(TrainingSpec& s) { predict_on(s), s.model.mtp.use_repeated_layer = true; }
void predict_apart(TrainingSpec& s) { predict_on(s), s.model.mtp.detach_heads = true; }
void one_latent(TrainingSpec& s) {  // wide values, no norms
  s.model.mla.q_lora_rank = 0, s.model.mla.v_head_dim = 12, s.model.qk_layernorm = false;
  s.model.add_bias_linear = true, s.model.norm_block_output = true;
}
void post_norm(TrainingSpec& s) { s.model.bert.post_norm = s.model.embedding_layernorm = true; }
void one_segment(TrainingSpec& s) {
  s.model.bert = {.no_binary_head = true, .token_types = 0};
  s.model.position_embedding_type = PositionEmbedding::rope, s.model.untie_embeddings_and_output_weights = true;
}
void mla_window(TrainingSpec& s) { s.documents = true, s.model.sliding_window = 5, s.model.apply_layernorm_1p = true; }
void window(TrainingSpec& s) { s.model.sliding_window = 5, s.model.add_qkv_bias = true; }
void ring(TrainingSpec& s) { s.ring = true; }
void ring_of_everything(TrainingSpec& s) {
  s.ring = s.documents = true, s.regather = false, s.model.sliding_window = 9, s.model.add_qkv_bias = true;
}
void three_query_heads(TrainingSpec& s) {  // tp 6 = tp_kv 2 x tp_rep 3
  s.model.seq_length = 18, s.model.num_attention_heads = 6, s.model.padded_vocab_size = 54;
}
void rope(TrainingSpec& s) { s.model.position_embedding_type = PositionEmbedding::rope; }
void rope_ring(TrainingSpec& s) { rope(s), ring(s); }
void three_groups(TrainingSpec& s) {
  s.model.seq_length = s.model.max_position_embeddings = 18;
  s.model.num_attention_heads = s.model.num_query_groups = 3, s.model.padded_vocab_size = 51;
}

void shared_expert(TrainingSpec& s) {
  s.model.moe.shared_expert_intermediate_size = 20, s.model.moe.shared_expert_gate = true;
  s.model.moe.router_pre_softmax = true, s.model.moe.layer_freq = "([0]+[1])";
}
void latent(TrainingSpec& s) { s.model.moe.latent_size = 6, s.model.moe.shared_expert_intermediate_size = 20; }
void expert_biases(TrainingSpec& s) { s.model.add_mlp_bias = true; }
void all_biases(TrainingSpec& s) {
  s.model.moe.num_experts = 4, s.model.moe.layer_freq = "2", s.model.hidden_dropout = 0;
}
void all_experts(TrainingSpec& s) { s.model.moe.router_topk = 8; }
void one_expert(TrainingSpec& s) {
  s.model.moe.router_topk = 1, s.model.moe.router_score_function = RouterScore::sigmoid;
  s.model.activation = Activation::gelu_tanh;
}
void in_parts(TrainingSpec& s) { s.style.expert_rows = 0.7; }
void all_in_parts(TrainingSpec& s) { s.style.expert_rows = 1e-3, s.regather = false; }
void biases_in_parts(TrainingSpec& s) { expert_biases(s), in_parts(s); }
void to_one_expert_in_parts(TrainingSpec& s) {
  s.style.expert_rows = 1, s.model.moe.router_force_biased = 1e3, s.model.moe.router_topk = 1;
  s.model.moe.router_score_function = RouterScore::sigmoid;
}
void grouped_sigmoid(TrainingSpec& s) {
  s.model.moe.router_score_function = RouterScore::sigmoid, s.model.moe.router_topk_scaling_factor = 2.5;
  s.model.moe.router_num_groups = 4, s.model.moe.router_group_topk = 2, s.model.moe.router_topk = 4;
}

// Losses that do not depend on the division of samples among dp ranks and micro-batches.
void balanced(TrainingSpec& s) {
  MoeConfig& m = s.model.moe;
  m.router_load_balancing_type = {"seq_aux_loss"}, m.aux_loss_coeff = {0.3}, m.z_loss_coeff = 0.1;
}
void biased_and_balanced(TrainingSpec& s) {
  balanced(s), grouped_sigmoid(s);
  s.model.moe.router_enable_expert_bias = true, s.model.moe.input_jitter_eps = 0.2;
}
// Losses that depend on it: with one dp rank, or one micro-batch.
void balanced_by_rank(TrainingSpec& s) {
  MoeConfig& m = s.model.moe;
  m.router_load_balancing_type = {"aux_loss", "global_aux_loss"}, m.aux_loss_coeff = {0.3, 0.2};
}
void balanced_over_all(TrainingSpec& s) {
  MoeConfig& m = s.model.moe;
  m.router_load_balancing_type = {"global_aux_loss"}, m.aux_loss_coeff = {0.2};
  m.router_score_function = RouterScore::sqrtsoftplus;
}

void weighed_inputs(TrainingSpec& s) {
  one_expert(s);
  s.model.moe.apply_probs_on_input = true, s.model.moe.latent_size = 6, s.model.add_mlp_bias = true;
}
void norms_behind(TrainingSpec& s) { s.model.norm_block_output = true; }
void beside_attention(TrainingSpec& s) {
  balanced(s);
  s.model.parallel_residual = s.model.parallel_shared_norm = s.model.add_attention_bias = true;
}

struct Run {
  const char* name;
  ModelConfig (*model)();
  Change change;
  ParallelStyle style;
  int dp, cp, tp_kv, tp_rep, micro;
  int ep = 1, etp = 0;  // an expert view that no dense model has: axes of its dense view have several atoms
};

// The prototype's runs. Excluded are ZeRO-3 and norms after the residual, which the model text does not have; and some
// more.
const Run kRuns[] = {
    {"llama", llama_like, nullptr, kPlain, 1, 1, 1, 1, 2},
    {"llama", llama_like, nullptr, kPlain, 1, 1, 2, 1, 2},
    {"llama", llama_like, nullptr, kPlain, 1, 1, 2, 2, 2},
    {"llama_four_groups", llama_like, four_groups, kPlain, 1, 1, 4, 1, 2},
    {"llama", llama_like, nullptr, kSequenceParallel, 1, 1, 2, 1, 2},
    {"llama", llama_like, nullptr, kSequenceParallel, 1, 1, 2, 2, 2},
    {"llama_keep_gathered", llama_like, keep_gathered, kSequenceParallel, 1, 1, 2, 2, 2},
    {"llama_head_norms", llama_like, head_norms, kPlain, 1, 1, 2, 2, 1},
    {"llama_head_norms", llama_like, head_norms, kSequenceParallel, 2, 1, 2, 2, 1},
    {"llama", llama_like, nullptr, kPlain, 2, 1, 1, 1, 2},
    {"llama", llama_like, nullptr, kPlain, 1, 2, 1, 1, 2},
    {"llama", llama_like, nullptr, kZigzag, 1, 2, 1, 1, 2},
    {"llama", llama_like, nullptr, kAllToAll, 1, 2, 1, 1, 2},
    {"llama_four_groups", llama_like, four_groups, kSpAllToAll, 1, 2, 2, 1, 2},
    {"llama", llama_like, nullptr, kZigzag, 2, 2, 2, 2, 4},
    {"llama", llama_like, nullptr, kSpZigzag, 2, 2, 2, 2, 2},
    {"llama_parallel", llama_like, parallel, kPlain, 1, 1, 2, 2, 1},
    {"llama_parallel", llama_like, parallel, kSequenceParallel, 2, 1, 2, 1, 2},
    {"gpt2", gpt2_like, nullptr, kPlain, 1, 1, 1, 1, 4},
    {"gpt2", gpt2_like, nullptr, kPlain, 1, 1, 2, 1, 2},
    {"gpt2", gpt2_like, nullptr, kPlain, 1, 1, 4, 1, 2},
    {"gpt2", gpt2_like, nullptr, kSequenceParallel, 1, 1, 2, 1, 2},
    {"gpt2", gpt2_like, nullptr, kSequenceParallel, 1, 1, 4, 1, 2},
    {"gpt2", gpt2_like, nullptr, kPlain, 2, 1, 1, 1, 2},
    {"gpt2", gpt2_like, nullptr, kZigzag, 1, 2, 1, 1, 2},
    {"gpt2", gpt2_like, nullptr, kSpZigzag, 2, 2, 2, 1, 2},
    {"gpt2", gpt2_like, nullptr, kSpZigzag, 2, 2, 4, 1, 2},
    {"llama_tp6", llama_like, three_query_heads, kSpZigzag, 2, 1, 2, 3, 2},
    {"gpt2_three_groups", gpt2_like, three_groups, kSpZigzag, 1, 3, 3, 1, 2},
    {"llama_two_norms", llama_like, two_norms, kSequenceParallel, 1, 1, 2, 1, 1},
    {"llama_documents", llama_like, documents, kSpZigzag, 1, 2, 2, 1, 2},
    {"llama_documents", llama_like, documents, kAllToAll, 1, 2, 1, 1, 1},
    {"llama_window", llama_like, window, kSpZigzag, 1, 2, 2, 2, 2},
    {"bloom", gpt2_like, bloom, kSpZigzag, 1, 2, 2, 1, 2},
    {"llama_neighbours_attention_bias", llama_like, neighbours_and_attention_bias, kSpZigzag, 1, 2, 2, 2, 2},
    {"llama_mlp_bias", llama_like, mlp_bias, kSequenceParallel, 1, 1, 2, 2, 2},
    {"llama_ring", llama_like, ring, kPlain, 1, 2, 1, 1, 2},
    {"llama_ring", llama_like, ring, kZigzag, 1, 4, 1, 1, 2},
    {"llama_ring", llama_like, ring, kSpZigzag, 1, 2, 2, 2, 2},
    {"llama_ring_everything", llama_like, ring_of_everything, kZigzag, 1, 4, 2, 1, 2},
    {"llama_mtp", llama_like, predict_on, kPlain, 1, 1, 2, 1, 2},
    {"llama_mtp", llama_like, predict_on, kSpZigzag, 2, 2, 2, 2, 2},
    {"llama_mtp", llama_like, predict_on, kAllToAll, 1, 2, 1, 1, 1},
    {"llama_mtp_tied_documents", llama_like, predict_on_tied, kSpZigzag, 1, 2, 2, 1, 2},
    {"gpt2_mtp", gpt2_like, predict_on, kSpZigzag, 1, 2, 2, 1, 2},
    {"gpt2_mtp_again", gpt2_like, predict_again, kSequenceParallel, 2, 1, 2, 1, 2},
    {"llama_mtp_apart", llama_like, predict_apart, kSpZigzag, 1, 2, 2, 1, 2},
    {"gemma", llama_like, gemma, kPlain, 1, 1, 2, 2, 2},
    {"gemma", llama_like, gemma, kSpZigzag, 2, 2, 2, 1, 2},
    {"gpt2_norms_1p", gpt2_like, norms_1p, kSequenceParallel, 1, 1, 2, 1, 2},
    {"llama_quick_gates_head_norms_1p", llama_like, quick_gates_head_norms_1p, kSequenceParallel, 1, 1, 2, 2, 2},
    {"olmo2", llama_like, olmo2, kPlain, 1, 1, 2, 1, 2},
    {"olmo2", llama_like, olmo2, kPlain, 1, 1, 2, 2, 2},
    {"olmo2", llama_like, olmo2, kSequenceParallel, 2, 1, 2, 2, 2},
    {"olmo2", llama_like, olmo2, kSpZigzag, 1, 2, 2, 2, 2},
    {"olmo2", llama_like, olmo2, kAllToAll, 1, 2, 1, 1, 2},
    {"gpt2_ring", gpt2_like, ring, kZigzag, 2, 2, 1, 1, 2},
    {"bert", bert_like, nullptr, kPlain, 1, 1, 1, 1, 4},
    {"bert", bert_like, nullptr, kPlain, 1, 1, 2, 1, 2},
    {"bert", bert_like, nullptr, kSequenceParallel, 1, 1, 4, 1, 2},
    {"bert", bert_like, nullptr, kPlain, 2, 1, 1, 1, 2},
    {"bert", bert_like, nullptr, kPlain, 1, 2, 1, 1, 2},
    {"bert", bert_like, nullptr, kZigzag, 1, 2, 2, 1, 1},
    {"bert", bert_like, nullptr, kSpAllToAll, 1, 2, 2, 1, 2},
    {"bert", bert_like, nullptr, kSpZigzag, 2, 2, 2, 1, 2},
    {"bert_post_norm", bert_like, post_norm, kSpZigzag, 2, 2, 2, 1, 2},
    {"bert_post_norm", bert_like, post_norm, kPlain, 2, 1, 2, 1, 1},
    {"bert_one_segment", bert_like, one_segment, kSpZigzag, 2, 2, 2, 1, 2},
    {"bert_one_segment", bert_like, one_segment, kAllToAll, 1, 2, 1, 1, 2},
    {"mla", mla_like, nullptr, kPlain, 1, 1, 2, 1, 2},
    {"mla", mla_like, nullptr, kSequenceParallel, 2, 1, 2, 1, 2},
    {"mla", mla_like, nullptr, kSequenceParallel, 1, 1, 4, 1, 1},
    {"mla", mla_like, nullptr, kSpZigzag, 1, 2, 2, 1, 2},
    {"mla", mla_like, nullptr, kZigzag, 1, 2, 2, 1, 2},
    {"mla", mla_like, nullptr, kSpAllToAll, 1, 2, 2, 1, 2},
    {"mla_keep_gathered", mla_like, keep_gathered, kSequenceParallel, 1, 1, 2, 1, 2},
    {"mla_one_latent", mla_like, one_latent, kPlain, 1, 1, 4, 1, 2},
    {"mla_one_latent", mla_like, one_latent, kSpZigzag, 1, 2, 2, 1, 2},
    {"mla_window", mla_like, mla_window, kSpZigzag, 1, 2, 2, 1, 2},
    {"mla_ring", mla_like, ring, kZigzag, 1, 4, 1, 1, 2},
    {"mla_ring", mla_like, ring, kSpZigzag, 1, 2, 2, 1, 2},
    {"mla", mla_like, nullptr, kSpZigzag, 2, 2, 2, 1, 2, 4, 1},
    {"llama", llama_like, nullptr, kSpZigzag, 2, 2, 2, 2, 2, 4, 2},  // tp_rep | tp_kv cp | dp
    {"gpt2", gpt2_like, nullptr, kSpZigzag, 2, 2, 4, 1, 2, 4, 2},    // tp_kv 2 | tp_kv 2 x cp | dp
    {"llama", llama_like, nullptr, kPlain, 4, 1, 1, 1, 2, 2, 1},     // dp 2 | dp 2
    {"llama_ring", llama_like, ring, kZigzag, 1, 4, 1, 1, 2, 2, 1},  // cp 2 | cp 2
    {"llama_four_groups", llama_like, four_groups, kAllToAll, 1, 4, 1, 1, 2, 2, 1},
    {"olmo2", llama_like, olmo2, kSpZigzag, 1, 4, 2, 1, 2, 2, 2},  // tp_kv | cp 2 | cp 2
    {"t5_v10", t5_v10, nullptr, kPlain, 1, 1, 1, 1, 2},
    {"t5_v10", t5_v10, nullptr, kPlain, 1, 1, 2, 1, 2},
    {"t5_v10", t5_v10, nullptr, kPlain, 1, 1, 4, 1, 1},
    {"t5_v10", t5_v10, nullptr, kSequenceParallel, 1, 1, 2, 1, 2},
    {"t5_v10", t5_v10, nullptr, kSequenceParallel, 2, 1, 2, 1, 2},
    {"t5_v10", t5_v10, nullptr, kPlain, 4, 1, 1, 1, 2},
    {"t5_v10", t5_v10, nullptr, kPlain, 1, 2, 1, 1, 2},
    {"t5_v10", t5_v10, nullptr, kZigzag, 1, 2, 2, 1, 2},
    {"t5_v10", t5_v10, nullptr, kAllToAll, 1, 2, 2, 1, 2},
    {"t5_v10", t5_v10, nullptr, kSpZigzag, 2, 2, 2, 1, 2},
    {"t5_v10_ring", t5_v10, ring, kZigzag, 1, 2, 1, 1, 2},
    {"t5_v10_keep_gathered", t5_v10, keep_gathered, kSpZigzag, 1, 2, 2, 1, 2},
    {"t5_v11", t5_v11, nullptr, kPlain, 1, 1, 4, 1, 2},
    {"t5_v11", t5_v11, nullptr, kSequenceParallel, 2, 1, 2, 1, 4},
    {"t5_v11", t5_v11, nullptr, kSequenceParallel, 1, 1, 4, 1, 2},
    {"t5_v11", t5_v11, nullptr, kSpAllToAll, 1, 2, 2, 1, 1},
    {"t5_v11", t5_v11, nullptr, kSpZigzag, 2, 2, 2, 1, 2},
    {"t5_megatron", t5_megatron, nullptr, kPlain, 1, 1, 1, 1, 4},
    {"t5_megatron", t5_megatron, nullptr, kPlain, 2, 1, 2, 1, 2},
    {"t5_megatron", t5_megatron, nullptr, kSequenceParallel, 1, 1, 4, 1, 2},
    {"t5_megatron", t5_megatron, nullptr, kPlain, 1, 2, 1, 1, 2},
    {"t5_megatron", t5_megatron, nullptr, kSpZigzag, 2, 2, 2, 1, 2},
    {"t5_rope", t5_megatron, rope, kPlain, 1, 1, 2, 1, 2},
    {"t5_rope", t5_megatron, rope, kSpZigzag, 1, 2, 2, 1, 2},
    {"t5_rope_ring", t5_megatron, rope_ring, kSpZigzag, 1, 2, 2, 1, 2},
    {"retro_gpt2", retro_gpt2, nullptr, kPlain, 1, 1, 1, 1, 2},
    {"retro_gpt2", retro_gpt2, nullptr, kPlain, 1, 1, 2, 1, 2},
    {"retro_gpt2", retro_gpt2, nullptr, kPlain, 2, 1, 1, 1, 1},
    {"retro_gpt2", retro_gpt2, nullptr, kPlain, 4, 1, 1, 1, 2},
    {"retro_gpt2", retro_gpt2, nullptr, kPlain, 2, 1, 2, 1, 2},
    {"retro_gpt2", retro_gpt2, nullptr, kPlain, 2, 1, 4, 1, 1},
    {"retro_llama", retro_llama, nullptr, kPlain, 1, 1, 1, 1, 4},
    {"retro_llama", retro_llama, nullptr, kPlain, 1, 1, 2, 2, 2},
    {"retro_llama", retro_llama, nullptr, kPlain, 2, 1, 2, 1, 2},
    {"retro_llama", retro_llama, nullptr, kPlain, 4, 1, 2, 1, 1},
    {"mixture", mixture, nullptr, kPlain, 1, 1, 1, 1, 2},
    {"mixture", mixture, nullptr, kPlain, 2, 1, 1, 1, 2},
    {"mixture", mixture, nullptr, kPlain, 2, 1, 1, 1, 2, 2},
    {"mixture", mixture, nullptr, kPlain, 4, 1, 1, 1, 2, 4},
    {"mixture", mixture, nullptr, kPlain, 4, 1, 1, 1, 2, 2},
    {"mixture_keep_gathered", mixture, keep_gathered, kPlain, 4, 1, 1, 1, 1, 2},
    {"mixture", mixture, nullptr, kSequenceParallel, 1, 1, 2, 1, 2},        // etp 2
    {"mixture", mixture, nullptr, kSequenceParallel, 1, 1, 2, 1, 2, 2, 1},  // ep over tp
    {"mixture", mixture, nullptr, kSequenceParallel, 1, 1, 2, 1, 2, 1, 1},  // edp over tp
    {"mixture", mixture, nullptr, kSequenceParallel, 2, 1, 2, 2, 2, 2, 2},  // etp in tp, ep the rest of it
    {"mixture", mixture, nullptr, kSequenceParallel, 2, 1, 2, 1, 1, 1, 4},  // etp over tp and dp
    {"mixture", mixture, nullptr, kZigzag, 1, 2, 1, 1, 2, 2, 1},
    {"mixture", mixture, nullptr, kZigzag, 2, 2, 1, 1, 2, 4, 1},
    {"mixture", mixture, nullptr, kPlain, 1, 4, 1, 1, 2, 2, 1},  // cp in blocks, cut by ep
    {"mixture", mixture, nullptr, kSpZigzag, 2, 2, 2, 1, 2, 2, 1},
    {"mixture", mixture, nullptr, kSpZigzag, 2, 2, 2, 1, 2, 4, 2},
    {"mixture_shared", mixture, shared_expert, kPlain, 1, 1, 1, 1, 2},
    {"mixture_shared", mixture, shared_expert, kSpZigzag, 1, 2, 2, 1, 2, 4, 1},
    {"mixture_shared", mixture, shared_expert, kSequenceParallel, 2, 1, 2, 2, 2, 4, 2},
    {"mixture_latent", mixture, latent, kSpZigzag, 1, 2, 2, 1, 2, 4, 1},
    {"mixture_biases", mixture, expert_biases, kSequenceParallel, 2, 1, 2, 1, 2, 2, 2},
    {"mixture_biases", mixture, expert_biases, kSequenceParallel, 2, 1, 2, 1, 2, 4, 1},
    {"gpt2_mixture", gpt2_like, all_biases, kSpZigzag, 2, 2, 2, 1, 2, 4, 2},
    {"mixture_in_parts", mixture, in_parts, kPlain, 1, 1, 1, 1, 2},
    {"mixture_in_parts", mixture, in_parts, kPlain, 4, 1, 1, 1, 2, 2},
    {"mixture_in_parts", mixture, in_parts, kSequenceParallel, 2, 1, 2, 2, 2, 2, 2},
    {"mixture_in_parts", mixture, in_parts, kSpZigzag, 2, 2, 2, 1, 2, 2, 1},
    {"mixture_in_parts_of_a_token", mixture, all_in_parts, kPlain, 2, 1, 1, 1, 4, 2},
    {"mixture_biases_in_parts", mixture, biases_in_parts, kSequenceParallel, 2, 1, 2, 1, 2, 4, 1},
    {"mixture_to_one_expert_in_parts", mixture, to_one_expert_in_parts, kSequenceParallel, 2, 1, 2, 1, 2, 4, 1},
    {"mixture_all_experts", mixture, all_experts, kPlain, 4, 1, 1, 1, 2, 4},
    {"mixture_one_expert", mixture, one_expert, kSequenceParallel, 2, 1, 2, 1, 2, 4, 1},
    {"mixture", mixture, nullptr, kZigzag, 1, 4, 1, 1, 2, 2, 1},    // cp in zigzag, cut by ep
    {"mixture", mixture, nullptr, kSpZigzag, 2, 4, 2, 1, 2, 4, 1},  // tp and half of cp
    {"mixture", mixture, nullptr, kSpZigzag, 1, 4, 2, 1, 2, 1, 4},  // etp over tp and half of cp
    {"mixture_weighed_inputs", mixture, weighed_inputs, kSequenceParallel, 2, 1, 2, 1, 2, 2, 2},
    {"mixture_weighed_inputs", mixture, weighed_inputs, kZigzag, 2, 2, 1, 1, 2, 4, 1},
    {"mixture_norms_behind", mixture, norms_behind, kSequenceParallel, 2, 1, 2, 1, 2, 2, 1},
    {"mixture_beside_attention", mixture, beside_attention, kSpZigzag, 1, 2, 2, 1, 2, 4, 1},
    {"mixture_grouped_sigmoid", mixture, grouped_sigmoid, kSequenceParallel, 2, 1, 2, 1, 2, 2, 2},
    {"mixture_balanced", mixture, balanced, kPlain, 1, 1, 1, 1, 4},
    {"mixture_balanced", mixture, balanced, kSpZigzag, 2, 2, 2, 1, 2, 2, 1},
    {"mixture_biased", mixture, biased_and_balanced, kSequenceParallel, 1, 1, 2, 2, 1},
    {"mixture_biased", mixture, biased_and_balanced, kSpZigzag, 2, 2, 2, 1, 2, 4, 2},
    {"mixture_balanced_by_rank", mixture, balanced_by_rank, kSequenceParallel, 1, 1, 2, 2, 1},
    {"mixture_balanced_by_rank", mixture, balanced_by_rank, kSpZigzag, 1, 2, 2, 1, 1, 2, 1},
    {"mixture_balanced_over_all", mixture, balanced_over_all, kPlain, 4, 1, 1, 1, 1, 2},
    {"mixture_balanced_over_all", mixture, balanced_over_all, kSpZigzag, 2, 2, 2, 1, 1, 2, 1},
};

}  // namespace

std::vector<Setting> settings() {
  std::vector<Setting> out;
  for (const Run& r : kRuns) {
    TrainingSpec s{.model = r.model(),
                   .mesh = make_mesh({r.dp, r.cp, r.tp_kv, r.tp_rep, 1, r.ep, r.etp}),
                   .style = r.style,
                   .micro_batches = r.micro};
    if (r.change) r.change(s);
    s.tally = s.model.moe.num_experts > 0;
    const char* sp = r.style.sequence_parallel ? "_sp" : "";
    const char* cp = r.cp == 1                           ? ""
                     : r.style.cp_all_to_all             ? "_all_to_all"
                     : r.style.cp_order == Order::zigzag ? "_zigzag"
                                                         : "_block";
    const std::string cut = r.etp || r.ep > 1 ? fmt::format("_ep{}_etp{}", r.ep, r.etp) : "";
    out.push_back(
        {fmt::format("{}_dp{}_cp{}_tp{}x{}{}{}_x{}{}", r.name, r.dp, r.cp, r.tp_kv, r.tp_rep, sp, cp, r.micro, cut),
         std::move(s)});
  }
  return out;
}

namespace {

// Rows beyond `rows` of dim 0 must be 0; the rest is returned.
Tensor without_padding(const Tensor& t, i64 rows) {
  Tensor out = t;
  const size_t n = size_t(count(t.shape) / t.shape[0] * rows);
  for (size_t i = n; i < t.v.size(); ++i) check(t.v[i] == 0, "a padded row is {}", t.v[i]);
  out.shape[0] = rows, out.v.resize(n);
  return out;
}

const StepResult& one_rank_result(const TrainingSpec& spec) {
  struct Known {
    ModelConfig model;
    bool documents, tally;
    StepResult result;
  };
  static std::vector<std::unique_ptr<Known>> known;
  TrainingSpec one{.model = spec.model, .mesh = make_mesh({}), .style = kPlain};
  one.model.padded_vocab_size = one.model.vocab_size;
  one.documents = spec.documents, one.tally = spec.tally;
  for (const auto& k : known)
    if (k->model == one.model && k->documents == one.documents && k->tally == one.tally) return k->result;
  const Batch batch = make_batch(one.model, one.documents);
  Training t(one, batch);
  known.push_back(std::make_unique<Known>(one.model, one.documents, one.tally, t.step(initial_values(t.parameters()))));
  return known.back()->result;
}

double worst(const Tensors& got, const Tensors& want, bool key_biases) {
  double out = got.size() == want.size() ? 0 : 1;
  for (const auto& [name, w] : want) {
    if (!key_biases && name.ends_with("linear_k.bias")) continue;
    out = std::max(out, max_difference(without_padding(got.at(name), w.shape[0]), w));
  }
  return out;
}

// Tokens of experts are counted over the step. Losses of layers are summed over its micro-batches.
double worst_tally(const Tensors& got, int micro_batches, const Tensors& want) {
  double out = got.size() == want.size() ? 0 : 1;
  for (const auto& [name, w] : want) {
    if (name.find("_layer_") == std::string::npos) continue;  // sums of terms
    Tensor mean = got.at(name);
    if (!name.starts_with("tokens_"))
      for (double& x : mean.v) x /= micro_batches;
    out = std::max(out, max_difference(mean, w));
  }
  return out;
}

}  // namespace

Difference compare_with_one_rank(const TrainingSpec& spec) {
  const StepResult& want = one_rank_result(spec);
  const Batch batch = make_batch(spec.model, spec.documents);
  Training t(spec, batch);
  const StepResult got = t.step(initial_values(t.parameters()));
  double loss = std::abs(got.loss - want.loss);
  check(got.terms.size() == want.terms.size(), "{} terms of the loss, want {}", got.terms.size(), want.terms.size());
  for (size_t i = 0; i < want.terms.size(); ++i) loss = std::max(loss, std::abs(got.terms[i] - want.terms[i]));
  return {loss, worst(got.gradients, want.gradients, true), std::abs(got.norm - want.norm),
          worst(got.after, want.after, false), worst_tally(got.tallies, spec.micro_batches, want.tallies)};
}

}  // namespace megalith::harness
