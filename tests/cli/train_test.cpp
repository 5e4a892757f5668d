// Tests of a training run: it learns, and all its output is present.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>

#include "exec/cuda/backend.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

double unigram_entropy(const std::string& text) {  // nats per byte
  std::map<char, double> counts;
  for (const char c : text) ++counts[c];
  double h = 0;
  for (const auto& [c, n] : counts) h -= n / double(text.size()) * std::log(n / double(text.size()));
  return h;
}

class Training : public Workshop {};

TEST_F(Training, LearnsAText) {
  const Ran ran = must(
      "pretrain-gpt --num-layers 2 --hidden-size 96 --num-attention-heads 3 --seq-length 64 --micro-batch-size 16 "
      "--train-iters 200 --lr 4e-3 --lr-decay-style cosine --lr-warmup-iters 10 --init-method-std 0.05 "
      "--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear "
      "--untie-embeddings-and-output-weights --tokenizer-type ByteTokenizer --split 90,10,0 --eval-interval 100 "
      "--eval-iters 2 --log-interval 50 --data-path " +
      data());
  const double entropy = unigram_entropy(text());
  const double loss = last_number(ran.out, "lm loss: "), validation = last_number(ran.out, "lm loss value: ");
  EXPECT_LT(loss, entropy - 0.8);
  EXPECT_LT(validation, entropy - 0.8);
  EXPECT_GT(validation, 1);  // if labels leaked, the loss would approach zero
}

// The log has the lines that dashboards parse.
TEST_F(Training, PrintsMegatronsLines) {
  const Ran ran =
      must(pretrain("--train-iters 4 --eval-interval 2 --log-interval 2 --log-throughput --log-params-norm "
                    "--log-num-zeros-in-grad --split 80,10,10"));
  const std::regex line(
      R"( \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\] iteration {8}[124]/ {7}4 \| consumed samples: {12}\d \| )"
      R"(elapsed time per iteration \(ms\): \d+\.\d \| throughput per GPU \(TFLOP/s/GPU\): \d+\.\d \| )"
      R"(tokens per second per GPU: \d+\.\d \| data wait per iteration \(ms\): \d+\.\d \| )"
      R"(learning rate: \d\.\d{6}E[+-]\d\d \| global batch size: {5}2 \| lm loss: \d\.\d{6}E[+-]\d\d \| loss scale: 1\.0 \| )"
      R"(grad norm: \d+\.\d{3} \| num zeros: \d+ \| params norm: \d+\.\d{3} \| )"
      R"(number of skipped iterations: {3}0 \| number of nan iterations: {3}0 \|)");
  const std::regex any_line(R"( \[[^\n]*iteration [^\n]*)");
  int lines = 0;
  for (std::sregex_iterator it(ran.out.begin(), ran.out.end(), any_line), end; it != end; ++it, ++lines)
    EXPECT_TRUE(std::regex_match(it->str(), line)) << it->str();
  EXPECT_EQ(lines, 3);  // 1, 2, 4
  EXPECT_NE(ran.out.find("no MFU: the dense peak of CPU in f32 is unknown"), std::string::npos);
  EXPECT_NE(ran.out.find(" validation loss at iteration 2 | lm loss value: "), std::string::npos);
  EXPECT_NE(ran.out.find(" validation loss at iteration 4 | lm loss value: "), std::string::npos);
  EXPECT_NE(ran.out.find(" validation loss at iteration 4 on test set | lm loss value: "), std::string::npos);
}

// The first lines of the log have the most important settings. All arguments are in a file in the checkpoint directory,
// or in the log on request.
TEST_F(Training, BeginsWithWhatMatters) {
  const std::string flags = "--train-iters 2 --split 80,10,10 --save-interval 2 --save " + *this / "ck ",
                    arguments = "num_layers ...................................... 2";
  const std::string plain = must(pretrain(flags)).out,
                    debug = must(pretrain("--log-level debug --load " + *this / "ck " + flags)).out;
  std::size_t at = 0;
  for (const char* label : {"model ", "layout ", "memory ", "data ", "batch ", "run ", "optimizer ", "save ",
                            "arguments ", "differs ", " [20"}) {
    const std::size_t next = plain.find(std::string("\n") + label, at);
    ASSERT_NE(next, std::string::npos) << label << plain;
    at = next;
  }
  const auto lines_before = [&](std::size_t end) { return std::count(plain.begin(), plain.begin() + i64(end), '\n'); };
  const auto of_stack = lines_before(plain.find("\ndiffers ")) - lines_before(plain.find("\nstack "));
  EXPECT_GT(of_stack, 0) << plain;  // two lines if there are many libraries
  EXPECT_LT(lines_before(at) - of_stack, 15) << plain;
  EXPECT_EQ(plain.find(arguments), std::string::npos) << plain;
  EXPECT_EQ(plain.find("-- plan --"), std::string::npos) << plain;
  EXPECT_NE(slurp(*this / "ck/arguments_0000000.txt").find(arguments), std::string::npos);
  EXPECT_NE(debug.find(arguments), std::string::npos) << debug;
  EXPECT_NE(debug.find("-- plan --"), std::string::npos) << debug;
  EXPECT_NE(debug.find("nothing is left: 2 iterations are done, from " + *this / "ck/iter_0000002"), std::string::npos)
      << debug;
  EXPECT_EQ(must(pretrain(flags + "--log-level warning --load " + *this / "ck")).out.find("\nmodel "),
            std::string::npos);
}

// A line has a step's time and the tokens per second per device. Their product gives the tokens of a step, for any
// number of devices.
void expect_speed_of_each(const std::string& line, int ranks) {
  const Ran ran =
      megalith(line + " --train-iters 3 --log-interval 1 --global-batch-size 64 --log-throughput", {.ranks = ranks});
  ASSERT_TRUE(ran.ok()) << ran.err;
  const double tokens = 64 * 32;
  const double ms = last_number(ran.out, "elapsed time per iteration (ms): "),
               each = last_number(ran.out, "second per GPU: ");
  EXPECT_NEAR(ms / 1000 * each * ranks, tokens, 0.05 * tokens) << ran.out;
}

TEST_F(Training, TellsTheSpeedOfOneDevice) { expect_speed_of_each(pretrain(""), 1); }

TEST_F(Training, TellsTheSpeedOfEachOfTwoDevices) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  expect_speed_of_each(pretrain(""), 2);
}

TEST_F(Training, WritesMetricsAndTensorBoard) {
  must(pretrain("--train-iters 4 --eval-interval 4 --log-interval 2 --metrics-file " + *this / "sub/metrics.jsonl" +
                " --tensorboard-dir " + *this / "tb"));
  const auto numbers = digits(*this / "sub/metrics.jsonl");
  for (const char* key : {"1 lm_loss", "2 lm_loss", "4 grad_norm", "4 learning_rate", "4 validation_loss"})
    EXPECT_TRUE(numbers.contains(key)) << key;
  EXPECT_EQ(numbers.at("4 consumed_samples"), "8");
  i64 bytes = 0;
  for (const auto& entry : fs::directory_iterator(*this / "tb")) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("events.out.tfevents."));
    bytes += i64(entry.file_size());
  }
  EXPECT_GT(bytes, 500);
}

TEST_F(Training, DryRunAllocatesNothing) {
  const Ran ran = must(
      "pretrain-gpt --dry-run --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 2048 "
      "--micro-batch-size 4 --train-iters 10 --lr 1e-4 --vocab-size 50257");
  EXPECT_LT(ran.peak_bytes, i64{300} << 20);
  EXPECT_GT(last_number(ran.out, "\n  total "), 2e11);
  EXPECT_NE(ran.out.find("  parameters                        12853386240"), std::string::npos) << ran.out;
  for (const char* part :
       {"program micro-batch", "program last-micro-batch", "model flops per iteration", "activations, micro-batch"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part;
}

TEST_F(Training, PrintsGraphAndPlan) {
  const Ran graph = must(pretrain("--train-iters 1 --dry-run --print-graph"));
  EXPECT_NE(graph.out.find("decoder.layers.1.self_attention.linear_qkv.weight"), std::string::npos);
  EXPECT_NE(graph.out.find("einsum"), std::string::npos);
  const Ran plan = must(pretrain("--train-iters 1 --dry-run --print-plan"));
  EXPECT_NE(plan.out.find("program micro-batch: "), std::string::npos);
  EXPECT_NE(plan.out.find("leaf decoder.final_layernorm.weight"), std::string::npos);
}

TEST_F(Training, LeavesEarlyAndSaves) {
  const std::string save = " --save " + *this / "ck" + " --save-interval 100 ";
  const Ran interval = must(pretrain("--train-iters 10 --exit-interval 3" + save));
  EXPECT_NE(interval.out.find("exiting program at iteration 3"), std::string::npos);
  EXPECT_TRUE(fs::exists(*this / "ck/iter_0000003"));
  const Ran time = must(pretrain("--train-iters 1000000 --lr-decay-iters 10 --exit-duration-in-mins 0.005" + save +
                                 "--load " + *this / "ck" + " --override-opt-param-scheduler"));
  EXPECT_NE(time.out.find("exiting program after 0.0"), std::string::npos);
}

// Without a GPU the run uses the CPU, and the log says why. If the user requests a GPU, the error is one line.
TEST_F(Training, SaysWhereItComputes) {
  const Ran cpu = must(pretrain("--train-iters 1"));
  EXPECT_NE(cpu.err.find("device: CPU (--device cpu)\n"), std::string::npos) << cpu.err;
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a GPU here";
  const Ran unsaid = must(pretrain("--train-iters 1 --device auto"));
  EXPECT_NE(unsaid.err.find("device: CPU (" + why_no_cuda() + ")\n"), std::string::npos) << unsaid.err;
  expect_refused(pretrain("--train-iters 1 --device cuda"), "--device cuda: ");
}

// Without a tokenizer the last id of the vocabulary ends a document.
TEST_F(Training, MockDataNeedsNoTokenizer) {
  const std::string go =
      "pretrain-gpt --num-layers 2 --hidden-size 32 --num-attention-heads 2 --seq-length 32 --micro-batch-size 2 "
      "--train-iters 2 --log-interval 1 --lr 1e-3 --mock-data ";
  const Ran ran = must(go + "--vocab-size 500");
  EXPECT_NEAR(last_number(ran.out, "lm loss: "), std::log(500.0), 0.3);
  for (const std::string more :
       {"", " --dry-run", " --dry-run --optimizer-cpu-offload --pipeline-model-parallel-size 2 --world-size 2"})
    expect_refused(go + more, "the vocabulary size is unknown: give --vocab-size");
}

TEST_F(Training, CountsInSamples) {
  const Ran ran = must(pretrain("--train-samples 21 --global-batch-size 4 --log-interval 1 --lr-warmup-samples 4"));
  EXPECT_NE(ran.out.find("iteration        5/       5 | consumed samples:           20 |"), std::string::npos)
      << ran.out;
}

// The loss overflows. The run skips, counts and reports the steps, and weights do not change.
TEST_F(Training, SkipsAndCountsBadSteps) {
  const Ran ran = must(pretrain("--train-iters 4 --log-interval 4 --lr 1e30 --clip-grad 0 --lr-decay-style constant"));
  EXPECT_NE(ran.err.find("the step is skipped"), std::string::npos) << ran.err;
  EXPECT_GT(last_number(ran.out, "number of skipped iterations: "), 0);
  EXPECT_GT(last_number(ran.out, "number of nan iterations: "), 0);
  const Ran quiet =
      must(pretrain("--train-iters 4 --lr 1e30 --clip-grad 0 --lr-decay-style constant "
                    "--no-check-for-nan-in-loss-and-grad"));
  EXPECT_EQ(quiet.err.find("the step is skipped"), std::string::npos) << quiet.err;
}

}  // namespace
}  // namespace megalith::test
