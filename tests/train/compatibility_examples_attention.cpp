// Command lines that break a rule about rope scaling or multi-head latent attention.
#include "compatibility_examples.h"

namespace megalith {

Examples examples_of_attention() {
  const std::string rope = "--position-embedding-type rope ", latent = rope + "--multi-latent-attention ";
  return {{"rope scaling comes with rope",
           {"--use-rope-scaling", "--rope-scaling-type llama3 needs --position-embedding-type rope"}},
          {"rope scaling has the numbers that its kind needs",
           {rope + "--use-rope-scaling --rope-low-freq-factor 4",
            "rope scaling needs positive factors with low < high: --rope-scaling-factor 8, --rope-low-freq-factor 4, "
            "--rope-high-freq-factor 4"}},
          {"rope scaling has the numbers that its kind needs",
           {"--position-embedding-type yarn --rotary-scaling-factor 0.5",
            "yarn needs a factor from 1, turns with slow < fast, and mscales from 0: --rope-scaling-factor 0.5, "
            "--yarn-beta-slow 1, --yarn-beta-fast 32, --mscale 1, --mscale-all-dim 0"}},
          {"rope scaling has the numbers that its kind needs",
           {rope + "--rope-scaling-type dynamic --rotary-percent 0.125",
            "dynamic rope needs a factor from 1 and more than 2 channels that turn: --rope-scaling-factor 1, 2 "
            "channels"}},
          {"rope scaling has the numbers that its kind needs",
           {rope + "--rope-scaling-type longrope --rope-short-factor 1 2",
            "--rope-short-factor has 2 numbers: longrope needs one for each of the 8 pairs that turn"}},
          {"rope scaling has the numbers that its kind needs",
           {rope + "--rope-short-factor 1 -2", "--rope-short-factor has the number -2: give numbers above 0"}},
          {"rope scaling has the numbers that its kind needs",
           {rope + "--rope-scaling-type longrope --rope-long-factor 1 0",
            "--rope-long-factor has the number 0: give numbers above 0"}},
          {"numbers of rope scaling come with its kind",
           {rope + "--rope-scaling-type yarn --rope-long-factor 1",
            "--rope-long-factor has no effect: only --rope-scaling-type longrope reads it"}},
          {"rope scaling has the numbers that its kind needs",
           {rope + "--rope-scaling-type yarn --rope-attention-factor 0", "--rope-attention-factor 0 must be positive"}},
          {"numbers of rope scaling come with its kind",
           {rope + "--rotary-scaling-factor 40",
            "--rope-scaling-factor has no effect: rope is not scaled (--rope-scaling-type)"}},
          {"multi-latent-attention comes with rope, of an even part of the head",
           {"--multi-latent-attention", "--multi-latent-attention needs --position-embedding-type rope"}},
          {"multi-latent-attention comes with rope, of an even part of the head",
           {latent + "--qk-pos-emb-head-dim 7", "--qk-pos-emb-head-dim 7 is odd: pairs turn, give an even one"}},
          {"multi-latent-attention comes with rope, of an even part of the head",
           {latent + "--rotary-percent 0.5",
            "--rotary-percent 0.5 with --multi-latent-attention: --qk-pos-emb-head-dim gives the rotated dims"}},
          {"multi-latent-attention comes with rope, of an even part of the head",
           {latent + "--rotary-interleaved",
            "--rotary-interleaved with --multi-latent-attention: its pairs are neighbours always, leave it out"}},
          {"multi-latent-attention comes without query groups",
           {latent + "--num-query-groups 2",
            "--num-query-groups 2 with --multi-latent-attention: each of the 4 heads has separate keys, leave it "
            "(and --group-query-attention) out"}},
          {"multi-latent-attention comes without biases on queries, keys and values",
           {latent + "--add-qkv-bias",
            "--add-qkv-bias with --multi-latent-attention: its projections of queries, keys and values have no biases, "
            "leave it out"}},
          {"norms of multi-latent-attention are of the latents",
           {latent + "--qk-layernorm --qk-layernorm-across-heads",
            "--qk-layernorm-across-heads with --multi-latent-attention: norms are of the latents, leave it out"}},
          {"sizes of latent attention come with multi-latent-attention",
           {"--kv-lora-rank 512", "--kv-lora-rank has no effect without --multi-latent-attention"}},
          {"sizes of latent attention come with multi-latent-attention",
           {"--position-embedding-type rope --multi-latent-attention --kv-channels 8",
            "--kv-channels has no effect with --multi-latent-attention: --qk-head-dim, --qk-pos-emb-head-dim and "
            "--v-head-dim say how wide heads are"}}};
}

}  // namespace megalith
