// Tests of offload flags on the CPU, whose device memory is host memory.
#include <gtest/gtest.h>

#include "exec/cpu/backend.h"
#include "small_run.h"
#include "told_run.h"

namespace megalith {
namespace {

std::string told(const std::string& flags) {
  Options options = read_line(std::string(kSmallRun) + "--dry-run " + flags);
  options.data.eod = 100, options.data.seq_length = 32, options.data.vocab_size = 101;
  options.model.vocab_size = 101;
  finish_options(options);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  pretrain(options, *make_cpu_backend(), *join(Place{}));
  return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
}

}  // namespace

TEST(OffloadOnTheCpu, IsToldToFreeNothing) {
  constexpr const char *kNothing = "warning: --optimizer-cpu-offload frees no memory on the CPU",
                       *kInTurn = "on a GPU transfers to and from the host do not overlap";
  const std::string automatic = told("--optimizer-cpu-offload"), cpu = told("--optimizer-cpu-offload --device cpu");
  EXPECT_NE(automatic.find(kNothing), std::string::npos) << automatic;
  EXPECT_NE(automatic.find(kInTurn), std::string::npos);
  EXPECT_NE(cpu.find(kNothing), std::string::npos) << cpu;
  EXPECT_EQ(cpu.find(kInTurn), std::string::npos);
  EXPECT_EQ(told("").find(kNothing), std::string::npos);
}

// Runs on one rank. tests/parallel has several ranks and checkpoints.
TEST(OffloadOnTheCpu, OfActivationsChangesNoBit) {
  const std::string rms = " --position-embedding-type rope --normalization RMSNorm --disable-bias-linear";
  const std::string again = " --recompute-granularity full --recompute-method uniform --recompute-num-layers 2";
  for (const std::string& model :
       {rms + " --swiglu --bf16 --num-query-groups 2", rms + " --bf16 --geglu --apply-layernorm-1p --scale-embedding",
        rms + " --swiglu --norm-block-output --qk-layernorm --qk-layernorm-across-heads",
        " --bf16 --hidden-dropout 0.1 --attention-dropout 0.1" + again}) {
    const std::string flags =
        "--train-iters 4 --num-layers 4 --log-params-norm --save-interval 100 --global-batch-size 4" + model;
    const Told here = run(flags, *make_cpu_backend());
    EXPECT_EQ(here.error, "");
    EXPECT_FALSE(here.metrics.empty());
    for (const char* modules :
         {"", " --offload-modules attn_norm qkv_linear core_attn attn_proj mlp_norm mlp_fc1 mlp_act mlp_fc2",
          " --offload-modules core_attn mlp_act --activation-offload-fraction 0.5"}) {
      const Told there = run(flags + " --fine-grained-activation-offloading --min-offloaded-tensor-size 0" + modules,
                             *make_cpu_backend());
      EXPECT_EQ(there.error, "");
      EXPECT_EQ(there.metrics, here.metrics) << flags << modules;
    }
  }
}

TEST(OffloadOnTheCpu, OfActivationsIsToldToFreeNothing) {
  constexpr const char* kNothing = "warning: --fine-grained-activation-offloading frees no memory on the CPU";
  const std::string out = told("--fine-grained-activation-offloading");
  EXPECT_NE(out.find(kNothing), std::string::npos) << out;
  EXPECT_EQ(told("").find(kNothing), std::string::npos);
}

}  // namespace megalith
