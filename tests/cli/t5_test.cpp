// pretrain-t5 as a user runs it: training, resuming, layouts' worth of losses, what is refused.
#include <fmt/format.h>

#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

class T5Runs : public Workshop {
 protected:
  static std::string line(const std::string& more) {
    return "pretrain-t5 --device cpu --mock-data --encoder-num-layers 2 --decoder-num-layers 1 --hidden-size 32 "
           "--num-attention-heads 4 --encoder-seq-length 32 --decoder-seq-length 24 --position-embedding-type relative "
           "--vocab-size 128 --micro-batch-size 2 --global-batch-size 4 --lr 1e-3 --log-interval 1 --no-progress "
           "--eval-iters 2 --eval-interval 100 " +
           more;
  }
};

// A document counts up, so what is masked follows from what is not.
TEST_F(T5Runs, Learns) {
  const Ran ran = must(line("--train-iters 300 --lr 3e-3 --micro-batch-size 8 --global-batch-size 8 --metrics-file " +
                            *this / "m.jsonl"));
  const auto numbers = digits(*this / "m.jsonl");
  EXPECT_LT(std::stod(numbers.at("300 lm_loss")), 0.8 * std::stod(numbers.at("1 lm_loss")));
  EXPECT_NE(ran.out.find("> finished creating T5 datasets"), std::string::npos) << ran.out;
}

TEST_F(T5Runs, GoesOnFromACheckpointWithTheSameDigits) {
  for (const char* format : {"native", "torch_dist"}) {
    const std::string drop = "--train-iters 6 --hidden-dropout 0.1 --attention-dropout 0.1 ";
    const std::string dir = *this / format;
    must(line(drop + "--metrics-file " + dir + "-whole.jsonl"));
    const std::string half = line(drop + "--ckpt-format " + format + " --save " + dir + " --load " + dir +
                                  " --save-interval 3 --metrics-file " + dir + "-half.jsonl");
    must(half + " --exit-interval 3");
    must(half);
    const auto whole = digits(dir + "-whole.jsonl"), parts = digits(dir + "-half.jsonl");
    for (int i = 1; i <= 6; ++i)
      for (const char* key : {"lm_loss", "grad_norm"}) {
        const std::string at = fmt::format("{} {}", i, key);
        EXPECT_EQ(whole.at(at), parts.at(at)) << format << " " << at;
      }
  }
}

TEST_F(T5Runs, AnotherMicroBatchSizeGivesTheSameLosses) {
  must(line("--train-iters 3 --metrics-file " + *this / "two.jsonl"));
  must(line("--train-iters 3 --micro-batch-size 4 --metrics-file " + *this / "four.jsonl"));
  const auto two = digits(*this / "two.jsonl"), four = digits(*this / "four.jsonl");
  for (const char* key : {"3 lm_loss", "3 grad_norm"})
    EXPECT_NEAR(std::stod(two.at(key)), std::stod(four.at(key)), 2e-6 * std::stod(four.at(key))) << key;
}

TEST_F(T5Runs, TellsWhatIsNotBuilt) {
  const auto refused = [&](const std::string& more, const std::string& message) {
    expect_refused(line("--train-iters 1 " + more), message);
  };
  refused("--pipeline-model-parallel-size 2 --world-size 2 --dry-run", "a T5 is not cut into pipeline stages yet");
  refused("--num-experts 4", "--num-experts is not built for a T5");
}

}  // namespace
}  // namespace megalith::test
