// Megatron Core resumes one of our runs, with the optimizer's state, and continues with the same losses. We resume one
// of its runs in each format that it writes. The test is skipped if Python cannot import megatron-core.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/ckpt/torch/python.h"
#include "workshop.h"

namespace megalith::test {
namespace {

constexpr const char* kLlama =
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --num-query-groups 2 "
    "--untie-embeddings-and-output-weights ";

constexpr const char* kMtp =
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --mtp-num-layers 2 "
    "--mtp-loss-scaling-factor 0.3 ";

// Flags of mixtures of experts. Their router is in f32 here.
constexpr const char* kMoe =
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --num-query-groups 2 "
    "--untie-embeddings-and-output-weights --num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 96 "
    "--moe-router-dtype fp32 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2 ";
constexpr const char* kDeepseek =
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--untie-embeddings-and-output-weights --multi-latent-attention --q-lora-rank 24 --kv-lora-rank 16 --qk-head-dim "
    "16 --qk-pos-emb-head-dim 8 --v-head-dim 24 --qk-layernorm --rope-type rope --num-experts 8 --moe-layer-freq [0,1] "
    "--moe-router-topk 2 --moe-ffn-hidden-size 48 --moe-router-dtype fp32 --moe-router-score-function sigmoid "
    "--moe-router-topk-scaling-factor 2.5 --moe-router-enable-expert-bias --moe-router-load-balancing-type "
    "seq_aux_loss --moe-aux-loss-coeff 1e-3 --moe-shared-expert-intermediate-size 40 --mtp-num-layers 1 "
    "--mtp-loss-scaling-factor 0.3 ";

struct CoreCase {
  const char *name, *model, *type;
  const char* ranks;  // Megatron's sizes of TP, PP, DP, EP
  const char* kind;   // checkpoint format, as in megatron_core.py
  int steps;          // steps before and after the resume
  int ours = 1;       // number of our ranks, with expert parallelism
};

// Prints the name in test reports, not pointers and flags.
void PrintTo(const CoreCase& c, std::ostream* out) { *out << c.name; }

constexpr CoreCase kCoreCases[] = {
    {"llama", kLlama, "", "1,1,1", "fully_reshardable", 3},
    {"llama_bf16", kLlama, "--bf16", "1,1,1", "dp_reshardable", 3},
    {"gpt2", "", "", "1,1,1", "torch", 3},
    {"gpt2_bf16", "", "--bf16", "1,1,1", "plain", 2},
    {"llama_bf16_old", kLlama, "--bf16", "1,1,1", "torch_plain", 2},
    {"mtp", kMtp, "", "1,1,1", "fully_reshardable", 3},
    {"mtp_bf16_old", kMtp, "--bf16", "1,1,1", "torch_plain", 2},
    {"experts", kMoe, "", "1,1,1", "fully_reshardable+local", 3},
    {"experts_bf16", kMoe, "--bf16", "1,1,1", "fully_reshardable", 3},
    {"experts_apart", kMoe, "", "1,1,1", "fully_reshardable+singleton", 3},
    {"experts_old", kMoe, "", "1,1,1", "torch", 3},
    {"experts_bf16_old", kMoe, "--bf16", "1,1,1", "torch_plain", 2},
    {"deepseek", kDeepseek, "", "1,1,1", "fully_reshardable", 3},
    {"deepseek_old", kDeepseek, "", "1,1,1", "torch", 3},
    {"expert_data", kMoe, "", "1,1,2,2", "fully_reshardable+chained", 0, 2},
    {"expert_data_old", kMoe, "--bf16", "1,1,2,2", "torch", 0, 2},
    {"expert_tensor", kMoe, "", "2,1,2,2", "fully_reshardable", 0, 2},
    {"tensor_data", kLlama, "", "2,1,2", "fully_reshardable", 0},
    {"tensor_pipeline_bf16", "--add-qkv-bias", "--bf16", "2,2,1", "dp_reshardable", 0},
    {"tensor_pipeline_old", "", "--bf16", "2,2,1", "torch", 0},
};

std::vector<double> losses(const std::string& metrics_path) {
  std::vector<double> out;
  std::istringstream in(slurp(metrics_path));
  for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line)["lm_loss"].get<double>());
  return out;
}

class MegatronCore : public Workshop, public ::testing::WithParamInterface<CoreCase> {};

TEST_P(MegatronCore, GoesOnWithOurRunsAndWeWithItsRuns) {
  if (!python_has("torch, megatron.core, psutil")) GTEST_SKIP() << python() << " has no megatron-core and psutil";
  const CoreCase& c = GetParam();
  // There is one document, as long as a sample, so all samples are the same.
  const std::string ids =
      "5 17 3 99 250 7 7 1 42 300 12 8 401 77 6 2 31 64 128 256 480 11 13 19 23 29 37 41 43 47 53 59";
  std::string tokens = ids + " 5";
  std::ranges::replace(tokens, ' ', ',');
  spit(*this / "one.jsonl", "{\"text\": \"" + ids + "\"}\n");
  must("preprocess-data --tokenizer-type NullTokenizer --vocab-size 512 --input " + *this / "one.jsonl" +
       " --output-prefix " + *this / "one");
  // 512 is a multiple of 128, so the vocabulary has no padding. Megatron's loss would count padded rows.
  if (c.ours > 1 && !has_mpirun()) GTEST_SKIP() << "there is no mpirun here";
  const std::string ranks = c.ours > 1 ? fmt::format("--expert-model-parallel-size {}", c.ours) : "";
  const auto run = [&](const std::string& more) {
    const Ran ran = megalith(
        fmt::format("pretrain-gpt --tokenizer-type NullTokenizer --vocab-size 512 --data-path {} --split 1,0,0 {} {} "
                    "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --micro-batch-size 1 "
                    "--global-batch-size 2 --lr 1e-2 --lr-decay-style constant --lr-decay-iters 100 --weight-decay "
                    "0.1 --eval-iters 0 --log-interval 1 --no-progress {} {}",
                    *this / "one_text_document", c.model, c.type, ranks, more),
        {.ranks = c.ours});
    ASSERT_TRUE(ran.ok()) << ran.err;
  };
  run("--train-iters 3 --save-interval 3 --ckpt-format torch_dist --save " + *this / "ours");
  run("--train-iters 9 --metrics-file " + *this / "whole.jsonl");
  ASSERT_EQ(run_python("megatron_core.py",
                       {*this / "ours/iter_0000003", *this / "losses.json", c.ranks, std::to_string(c.steps), tokens,
                        *this / "theirs", c.kind},
                       *this / "log"),
            "");
  run("--train-iters 9 --load " + *this / "theirs" + " --metrics-file " + *this / "resumed.jsonl");

  const std::vector<double> whole = losses(*this / "whole.jsonl"), resumed = losses(*this / "resumed.jsonl");
  const auto theirs = nlohmann::json::parse(slurp(*this / "losses.json"));
  ASSERT_EQ(whole.size(), 9U);
  const double tolerance = *c.type == 0 ? 5e-6 : 2e-3;
  for (int i = 0; i < c.steps; ++i) {
    const double before = theirs["before"][size_t(i)], after = theirs["after"][size_t(i)];
    EXPECT_NEAR(before, whole[size_t(3 + i)], tolerance * before) << "step " << i;
    EXPECT_NEAR(after, resumed.at(size_t(i)), tolerance * after) << "step " << i;
  }
  if (c.steps == 0) EXPECT_EQ(resumed, std::vector<double>(whole.begin() + 3, whole.end()));
}

INSTANTIATE_TEST_SUITE_P(, MegatronCore, ::testing::ValuesIn(kCoreCases), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace megalith::test
