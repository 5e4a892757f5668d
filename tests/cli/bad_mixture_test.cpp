// Common mistakes with mixtures of experts, multi-head latent attention and multi-token prediction. Each row has a
// command line and the expected message.
#include <span>

#include "workshop.h"

namespace megalith::test {
namespace {

struct Row {
  const char *flags, *says;
};

class BadMixture : public Workshop {
 protected:
  std::string run(const std::string& flags) {
    return pretrain(
        "--train-iters 2 --split 80,10,10 --disable-bias-linear --position-embedding-type rope --num-experts 4 " +
        flags);
  }
  void refuses(std::span<const Row> rows) {
    for (const auto& [flags, says] : rows) {
      SCOPED_TRACE(flags);
      expect_refused(run(flags), says);
    }
  }
  void warns(std::span<const Row> rows) {
    for (const auto& [flags, says] : rows) {
      SCOPED_TRACE(flags);
      const Ran ran = must(run(flags));
      EXPECT_NE((ran.out + ran.err).find(std::string("warning: ") + says), std::string::npos) << ran.out << ran.err;
    }
  }
};

TEST_F(BadMixture, Routers) {
  const Row kRows[] = {
      {"--num-experts -1", "--num-experts -1 is out of range"},
      {"--num-experts two", "'two' is not a whole number"},
      {"--moe-router-topk 0", "--moe-router-topk 0 is out of range"},
      {"--moe-router-topk 5", "--moe-router-topk 5 is more than --num-experts 4"},
      {"--moe-router-topk 1", "add --moe-router-pre-softmax"},
      {"--moe-router-score-function tanh", "'tanh' is none of softmax, sigmoid, sqrtsoftplus"},
      {"--moe-router-dtype bf16", "'bf16' is none of None, fp32, fp64"},
      {"--moe-router-topk-scaling-factor 0", "--moe-router-topk-scaling-factor 0: want a number above 0"},
      {"--moe-router-num-groups 2", "come together: give both"},
      {"--moe-router-group-topk 2", "come together: give both"},
      {"--moe-router-num-groups -2 --moe-router-group-topk 1", "--moe-router-num-groups -2 is out of range"},
      {"--moe-router-num-groups 3 --moe-router-group-topk 1", "not divisible by --moe-router-num-groups 3"},
      {"--moe-router-num-groups 2 --moe-router-group-topk 3", "more than --moe-router-num-groups 2"},
      {"--moe-router-num-groups 4 --moe-router-group-topk 3", "is less than --moe-router-group-topk 3"},
      {"--moe-router-num-groups 2 --moe-router-group-topk 1 --moe-router-topk 3", "raise the latter"},
      {"--moe-router-enable-expert-bias", "add --moe-router-score-function sigmoid"},
      {"--moe-router-bias-update-rate -1", "--moe-router-bias-update-rate -1 is out of range"},
      {"--moe-input-jitter-eps 1.5", "--moe-input-jitter-eps 1.5 is out of range"},
      {"--moe-router-force-biased x", "'x' is not a number"},
  };
  refuses(kRows);
}

TEST_F(BadMixture, LossesOfRouters) {
  const Row kRows[] = {
      {"--moe-router-load-balancing-type aux", "want aux_loss, seq_aux_loss, global_aux_loss, sinkhorn, none"},
      {"--moe-router-load-balancing-type quantile_balancing", "quantile_balancing: want aux_loss"},
      {"--moe-router-load-balancing-type", "wants one or more values"},
      {"--moe-router-load-balancing-type aux_loss seq_aux_loss --moe-aux-loss-coeff 0.1", "give one for each"},
      {"--moe-aux-loss-coeff 0.1 0.2", "give one for each"},
      {"--moe-aux-loss-coeff", "wants one or more values"},
      {"--moe-aux-loss-coeff inf", "'inf' is not a number"},
      {"--moe-aux-loss-coeff -0.5", "--moe-aux-loss-coeff -0.5 is out of range"},
      {"--moe-z-loss-coeff -1", "--moe-z-loss-coeff -1 is out of range"},
      {"--moe-router-load-balancing-type sinkhorn --moe-aux-loss-coeff 0.1", "does not go with --moe-aux-loss-coeff"},
      {"--moe-router-load-balancing-type sinkhorn aux_loss --moe-aux-loss-coeff 0 0", "does not go with another"},
      {"--moe-router-load-balancing-type sinkhorn --moe-expert-capacity-factor 1",
       "does not go with --moe-expert-capacity-factor"},
      {"--moe-router-load-balancing-type sinkhorn --moe-router-num-groups 2 --moe-router-group-topk 1",
       "does not go with --moe-router-group-topk"},
      {"--moe-router-load-balancing-type sinkhorn --moe-router-enable-expert-bias --moe-router-score-function sigmoid",
       "does not go with --moe-router-enable-expert-bias"},
  };
  refuses(kRows);
}

TEST_F(BadMixture, LayersAndExperts) {
  const Row kRows[] = {
      {"--moe-layer-freq 0", "--moe-layer-freq 0: want 1 or more"},
      {"--moe-layer-freq ([0]*1+[1]*9)", "is of 10 layers, and --num-layers is 2"},
      {"--moe-layer-freq [2,1]", "want a number, or a list of 0 and 1"},
      {"--moe-layer-freq ([1]*99999999999999999999)", "want a number, or a list of 0 and 1"},
      {"--moe-layer-freq [1", "want a number, or a list of 0 and 1"},
      {"--moe-ffn-hidden-size -3", "--moe-ffn-hidden-size -3 is out of range"},
      {"--moe-latent-size -1", "--moe-latent-size -1 is out of range"},
      {"--moe-shared-expert-intermediate-size -3", "is out of range"},
      {"--moe-expert-capacity-factor 0", "--moe-expert-capacity-factor 0: want a number above 0"},
      {"--moe-expert-capacity-factor 1e300", "up to 1000000"},
      {"--moe-pad-expert-input-to-capacity", "add --moe-expert-capacity-factor"},
      {"--moe-token-drop-policy last", "'last' is none of probs, position"},
      {"--moe-apply-probs-on-input", "--moe-apply-probs-on-input is"},
      {"--optimizer muon", "--optimizer muon is not built for experts yet"},
      {"--fine-grained-activation-offloading --offload-modules expert_fc1", "there is no such part here"},
      {"--save-tokens-per-expert-interval 2", "give --save DIR"},
      {"--save-tokens-per-expert-interval -2", "--save-tokens-per-expert-interval -2 is out of range"},
  };
  refuses(kRows);
  expect_refused(pretrain("--train-iters 2 --num-experts 4 --moe-shared-expert-intermediate-size 8"),
                 "add --disable-bias-linear");
}

TEST_F(BadMixture, Ranks) {
  const Row kRows[] = {
      {"--expert-model-parallel-size 0", "--expert-model-parallel-size 0 is out of range"},
      {"--expert-tensor-parallel-size -2", "--expert-tensor-parallel-size -2 is out of range"},
      {"--expert-model-parallel-size 2", "start a multiple of 2 ranks for each stage"},
      {"--dry-run --world-size 4 --expert-model-parallel-size 8 --num-experts 8", "a pipeline stage has 4"},
      {"--dry-run --world-size 2 --pipeline-model-parallel-size 2 --expert-model-parallel-size 2",
       "a pipeline stage has 1"},
      {"--dry-run --world-size 3 --expert-model-parallel-size 3",
       "--num-experts 4 is not divisible by --expert-model-parallel-size 3"},
      {"--dry-run --world-size 2 --tensor-model-parallel-size 2", "add --sequence-parallel"},
      {"--dry-run --world-size 2 --expert-tensor-parallel-size 2 --moe-ffn-hidden-size 3",
       "the width of an expert, 3, is not divisible by --expert-tensor-parallel-size 2"},
      {"--dry-run --world-size 2 --tensor-model-parallel-size 2 --sequence-parallel "
       "--moe-shared-expert-intermediate-size 5",
       "--moe-shared-expert-intermediate-size 5 is not divisible"},
      {"--dry-run --world-size 18 --tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 3 "
       "--expert-tensor-parallel-size 1 --num-experts 6",
       "ep 2 or 6 would fit"},
  };
  refuses(kRows);
  expect_refused(pretrain("--train-iters 2 --expert-model-parallel-size 2"),
                 "there are none: give --num-experts, or 1");
}

TEST_F(BadMixture, LatentAttention) {
  const Row kRows[] = {
      {"--multi-latent-attention --num-query-groups 1", "each of the 2 heads has separate keys"},
      {"--multi-latent-attention --qk-pos-emb-head-dim 5", "--qk-pos-emb-head-dim 5 is odd"},
      {"--multi-latent-attention --kv-lora-rank 0", "--kv-lora-rank 0 is out of range"},
      {"--multi-latent-attention --q-lora-rank -1", "--q-lora-rank -1 is out of range"},
      {"--multi-latent-attention --v-head-dim 0", "--v-head-dim 0 is out of range"},
      {"--multi-latent-attention --add-qkv-bias", "have no biases, leave it out"},
      {"--multi-latent-attention --rotary-interleaved", "its pairs are neighbours always"},
      {"--multi-latent-attention --rotary-percent 0.5", "--qk-pos-emb-head-dim gives the rotated dims"},
      {"--multi-latent-attention --position-embedding-type alibi", "needs --position-embedding-type rope"},
      {"--multi-latent-attention --qk-layernorm --qk-layernorm-across-heads", "norms are of the latents"},
  };
  refuses(kRows);
}

TEST_F(BadMixture, FurtherTokens) {
  const Row kRows[] = {
      {"--mtp-num-layers -1", "--mtp-num-layers -1 is out of range"},
      {"--mtp-num-layers 32", "--mtp-num-layers 32 is not less than --seq-length 32"},
      {"--mtp-num-layers 1 --mtp-loss-scaling-factor -1", "--mtp-loss-scaling-factor -1 is negative"},
      {"--mtp-num-layers 2 --mtp-use-repeated-layer", "--mtp-use-repeated-layer is not built with --num-experts"},
      {"--mtp-num-layers 1 --position-embedding-type learned_absolute", "give --position-embedding-type rope"},
  };
  refuses(kRows);
}

TEST_F(BadMixture, WithoutEffect) {
  const Row kRows[] = {
      {"", "no flag balances the experts"},
      {"--moe-router-load-balancing-type none --moe-aux-loss-coeff 0.1", "--moe-aux-loss-coeff 0.1 has no effect"},
      {"--moe-layer-freq [0,0]", "--num-experts 4 has no effect: by --moe-layer-freq [0,0] no layer is a mixture"},
      {"--moe-token-drop-policy position",
       "--moe-token-drop-policy has no effect without --moe-expert-capacity-factor"},
      {"--moe-router-bias-update-rate 0.1",
       "--moe-router-bias-update-rate has no effect without --moe-router-enable-expert-bias"},
      {"--moe-shared-expert-gate",
       "--moe-shared-expert-gate has no effect without --moe-shared-expert-intermediate-size"},
      {"--mtp-loss-scaling-factor 0.3", "--mtp-loss-scaling-factor has no effect without --mtp-num-layers"},
      {"--q-lora-rank 8", "--q-lora-rank has no effect without --multi-latent-attention"},
      {"--multi-latent-attention --kv-channels 8", "--kv-channels has no effect with --multi-latent-attention"},
  };
  warns(kRows);
  for (const char* flag : {"--moe-router-topk 2", "--moe-aux-loss-coeff 0.1", "--moe-per-layer-logging",
                           "--expert-tensor-parallel-size 2"}) {
    const Ran ran = must(pretrain("--train-iters 1 --split 80,10,10 " + std::string(flag)));
    EXPECT_NE((ran.out + ran.err).find("has no effect without --num-experts"), std::string::npos) << flag << ran.out;
  }
}

// The answer has all mistakes, one line each.
TEST_F(BadMixture, AllAtOnce) {
  const Ran ran =
      megalith(run("--moe-router-topk 9 --moe-aux-loss-coeff 0.1 0.2 --moe-input-jitter-eps 2 --mtp-num-layers 40 "
                   "--moe-layer-freq [1] --expert-model-parallel-size 2"));
  EXPECT_EQ(ran.exit_code, 1);
  for (const char* says : {"6 things stop this", "--mtp-num-layers 40 is not less", "--moe-router-topk 9 is more",
                           "--moe-layer-freq [1] is of 1 layers", "give one for each",
                           "--moe-input-jitter-eps 2 is out", "start a multiple of 2 ranks"})
    EXPECT_NE(ran.err.find(says), std::string::npos) << says << "\n" << ran.err;
}

}  // namespace
}  // namespace megalith::test
