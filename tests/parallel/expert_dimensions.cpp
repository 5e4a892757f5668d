// Mixtures of experts, multi-head latent attention and multi-token prediction. The coefficients of balancing losses are
// large enough to have a visible effect.
#include "tests/parallel/dimensions.h"

namespace megalith::parity {

namespace {

std::vector<Dimension> of_ranks() {
  return {
      {false,
       {{"tp1", ""},
        {"tp2", "--tensor-model-parallel-size 2 --sequence-parallel", 2},
        {"tp4", "--tensor-model-parallel-size 4 --sequence-parallel", 4}}},
      {false,
       {{"cp1", ""},
        {"cp2", "--context-parallel-size 2", 2},
        {"cp2-a2a", "--context-parallel-size 2 --cp-comm-type a2a", 2},
        {"cp2-ring", "--context-parallel-size 2 --cp-comm-type p2p", 2},
        {"cp4", "--context-parallel-size 4", 4}}},
      {false,
       {{"pp1", ""},
        {"pp2", "--pipeline-model-parallel-size 2", 2},
        {"pp2-zb", "--pipeline-model-parallel-size 2 --pipeline-schedule zero-bubble", 2},
        {"pp2-vp2", "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2", 2},
        {"pp2-vp2-zb",
         "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --pipeline-schedule zero-bubble",
         2},
        {"pp2-drawn", "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout E|tt|(t|)*2|L", 2},
        {"pp4", "--pipeline-model-parallel-size 4", 4},
        {"pp4-zb", "--pipeline-model-parallel-size 4 --pipeline-schedule zero-bubble", 4}}},
      {false, {{"dp1", ""}, {"dp2", "", 2}, {"dp4", "", 4}, {"dp8", "", 8}}},
      {false,
       {{"ep1", ""},
        {"ep2", "--expert-model-parallel-size 2"},
        {"ep4", "--expert-model-parallel-size 4"},
        {"ep8", "--expert-model-parallel-size 8"}}},
      {false,
       {{"etp-as-tp", ""}, {"etp1", "--expert-tensor-parallel-size 1"}, {"etp2", "--expert-tensor-parallel-size 2"}}},
      sums_of_gradients(),
      micro_batches(),
      {false,
       {{"keep", ""},
        {"again-moe", "--recompute-granularity selective --recompute-modules moe"},
        {"again-act", "--recompute-granularity selective --recompute-modules moe_act layernorm"},
        {"again-shared", "--recompute-granularity selective --recompute-modules shared_experts"},
        {"again-latents", "--recompute-granularity selective --recompute-modules mla_up_proj mlp"},
        {"again-layers", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2"},
        {"again-block", "--recompute-granularity full --recompute-method block --recompute-num-layers 3"}}},
  };
}

std::vector<Dimension> of_models() {
  return {
      {true,
       {{"eight", "--num-experts 8 --swiglu --normalization RMSNorm --disable-bias-linear"},
        {"many", "--num-experts 16 --moe-router-topk 4 --swiglu --normalization RMSNorm --disable-bias-linear"},
        {"half", "--num-experts 8 --moe-layer-freq 2 --swiglu --normalization RMSNorm --disable-bias-linear"},
        {"few", "--num-experts 4 --moe-router-topk 3"},
        {"one",
         "--num-experts 4 --moe-router-topk 1 --moe-router-pre-softmax --moe-apply-probs-on-input --swiglu "
         "--normalization RMSNorm --disable-bias-linear"},
        {"parallel", "--num-experts 8 --parallel-residual"},
        {"behind", "--num-experts 8 --norm-block-output --normalization RMSNorm"},
        {"narrow", "--num-experts 8 --moe-latent-size 16 --swiglu --normalization RMSNorm --disable-bias-linear"}}},
      {true,
       {{"softmax", ""},
        {"pre-softmax", "--moe-router-pre-softmax --moe-router-topk-scaling-factor 2"},
        {"sigmoid", "--moe-router-score-function sigmoid --moe-input-jitter-eps 0.1"},
        {"root", "--moe-router-score-function sqrtsoftplus"},
        {"bias",
         "--moe-router-score-function sigmoid --moe-router-enable-expert-bias --moe-router-bias-update-rate 0.02"},
        {"grouped",
         "--moe-router-score-function sigmoid --moe-router-enable-expert-bias --moe-router-bias-update-rate 0.02 "
         "--moe-router-num-groups 4 --moe-router-group-topk 2 --moe-router-group-best 1"}}},
      {true,
       {{"no-aux", ""},
        {"aux", "--moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 0.1"},
        {"seq-aux", "--moe-router-load-balancing-type seq_aux_loss --moe-aux-loss-coeff 0.1"},
        {"global-aux", "--moe-router-load-balancing-type global_aux_loss --moe-aux-loss-coeff 0.1"},
        {"z", "--moe-z-loss-coeff 0.01"},
        {"two-aux",
         "--moe-router-load-balancing-type seq_aux_loss global_aux_loss --moe-aux-loss-coeff 0.05 0.1 "
         "--moe-z-loss-coeff 0.01"},
        {"all-aux",
         "--moe-router-load-balancing-type aux_loss seq_aux_loss global_aux_loss --moe-aux-loss-coeff 0.1 0.05 0.1 "
         "--moe-z-loss-coeff 0.01"}}},
      {true,
       {{"no-shared", ""},
        {"shared", "--moe-shared-expert-intermediate-size 16"},
        {"gated", "--moe-shared-expert-intermediate-size 16 --moe-shared-expert-gate"}}},
      {true,
       {{"groups8", ""},
        {"groups2", "--num-query-groups 2"},
        {"mla",
         "--multi-latent-attention --qk-layernorm --q-lora-rank 12 --kv-lora-rank 8 --qk-head-dim 4 "
         "--qk-pos-emb-head-dim 4 --v-head-dim 6"},
        {"mla-plain",
         "--multi-latent-attention --q-lora-rank 0 --kv-lora-rank 12 --qk-head-dim 4 --qk-pos-emb-head-dim 2 "
         "--v-head-dim 4"}}},
      {true,
       {{"no-mtp", ""},
        {"mtp1", "--mtp-num-layers 1 --mtp-loss-scaling-factor 0.5"},
        {"mtp2", "--mtp-num-layers 2 --mtp-loss-scaling-factor 0.5"},
        {"mtp-apart", "--mtp-num-layers 2 --mtp-loss-scaling-factor 0.5 --mtp-detach-heads"}}},
      {true, {{"tied", ""}, {"untied", "--untie-embeddings-and-output-weights"}}},
      {true, {{"no-drop", ""}, {"both-drop", "--hidden-dropout 0.1 --attention-dropout 0.1"}}},
      {true, {{"stream", ""}, {"documents", "--reset-position-ids --reset-attention-mask --eod-mask-loss"}}},
      {true,
       {{"dropless", ""},
        {"cap-probs", "--moe-expert-capacity-factor 0.8"},
        {"cap-position", "--moe-expert-capacity-factor 0.8 --moe-token-drop-policy position"},
        {"cap-pad", "--moe-expert-capacity-factor 1.2 --moe-pad-expert-input-to-capacity"}}},
      {true, {{"", "--position-embedding-type rope --moe-ffn-hidden-size 16"}}},
  };
}

}  // namespace

const std::vector<Dimension>& expert_dimensions() {
  static const std::vector<Dimension> all = [] {
    std::vector<Dimension> out = of_ranks();
    for (Dimension& d : of_models()) out.push_back(std::move(d));
    return out;
  }();
  return all;
}

}  // namespace megalith::parity
