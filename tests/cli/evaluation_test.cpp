// Tests of evaluation: during training, of a loaded model, of a whole set, and of several sets.
#include <filesystem>

#include "workshop.h"

namespace megalith::test {
namespace {

class Evaluations : public Workshop {
 protected:
  // Trains one step and returns the checkpoint directory. `more`: further flags.
  std::string trained(const std::string& more = "") {
    must(pretrain("--train-iters 1 --split 95,5,0 --save-interval 1 --save " + *this / "ck " + more));
    return *this / "ck";
  }
  // The loss that `evaluate` prints for the whole validation set of 5 percent.
  double whole(const std::string& ck) {
    return last_number(must("evaluate --load " + ck + " --split 95,5,0 --data-path " + data()).out, "lm loss ");
  }
  static int times(const std::string& text, const std::string& part) {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
};

TEST_F(Evaluations, SkipTrainEvaluatesWhatIsLoaded) {
  const std::string ck = trained();
  const std::string line = "pretrain-gpt --skip-train --micro-batch-size 2 --seq-length 32 --split 80,10,10 --load " +
                           ck + " --data-path " + data() + " --no-progress ";
  const Ran ran = must(line + "--eval-iters 3 --global-batch-size 4 --save " + ck + " --save-interval 1");
  EXPECT_NE(ran.out.find("skipping training"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("validation loss at iteration 1 on validation set"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("validation loss at iteration 1 on test set"), std::string::npos) << ran.out;
  EXPECT_FALSE(std::filesystem::exists(ck + "/iter_0000002"));
  expect_refused(
      "pretrain-gpt --skip-train --micro-batch-size 2 --mock-data --vocab-size 64 --num-layers 1 "
      "--hidden-size 16 --num-attention-heads 2 --seq-length 16",
      "give --load DIR");
}

TEST_F(Evaluations, FullValidationReadsAllOfTheSet) {
  const std::string ck = trained();
  const double want = whole(ck);
  const Ran alone = must("evaluate --load " + ck + " --split 95,5,0 --data-path " + data());
  EXPECT_EQ((alone.out + alone.err).find("differs from Megatron"), std::string::npos) << alone.out << alone.err;
  for (const char* batch : {"--micro-batch-size 2", "--micro-batch-size 3 --global-batch-size 6"}) {
    const Ran ran =
        must("pretrain-gpt --skip-train --full-validation --eval-iters 0 --seq-length 32 --split 95,5,0 --load " + ck +
             " --data-path " + data() + " --no-progress " + batch);
    EXPECT_NEAR(last_number(ran.out, "lm loss value: "), want, 1e-5) << ran.out;
  }
}

// Each layout reads each sample once. The ranks print one line together.
TEST_F(Evaluations, RunOnSeveralRanks) {
  const std::string ck = trained();
  const std::string line = "evaluate --load " + ck + " --split 95,5,0 --data-path " + data();
  const double want = whole(ck), first = last_number(must(line + " --eval-iters 4").out, "lm loss ");
  EXPECT_NE(want, first);
  for (const char* layout : {"", " --tensor-model-parallel-size 2 --sequence-parallel", " --context-parallel-size 2",
                             " --pipeline-model-parallel-size 2 --use-distributed-optimizer"}) {
    const Ran ran = megalith(line + layout, {.ranks = 2});
    ASSERT_TRUE(ran.ok()) << layout << ran.err;
    EXPECT_EQ(times(ran.out, "lm loss "), 1) << ran.out;
    EXPECT_NEAR(last_number(ran.out, "lm loss "), want, 1e-5) << layout;
    const bool is_dp = std::string_view(layout).empty();
    const Ran some = megalith(line + layout + " --eval-iters " + (is_dp ? "2" : "4"), {.ranks = 2});
    EXPECT_NEAR(last_number(some.out, "lm loss "), first, 1e-5) << layout << some.err;
  }
  const Ran wrong = megalith(line + " --tensor-model-parallel-size 3", {.ranks = 2});
  EXPECT_FALSE(wrong.ok());
  EXPECT_EQ(times(wrong.err, "2 ranks are not divisible by tensor 3"), 1) << wrong.err;
}

TEST_F(Evaluations, HaveABatchAndAStartOfTheirOwn) {
  const Ran ran =
      must(pretrain("--train-iters 6 --split 80,20,0 --eval-interval 2 --start-eval-at-iter 3 "
                    "--eval-global-batch-size 6 --eval-micro-batch-size 3 --global-batch-size 4 --eval-iters 2"));
  EXPECT_EQ(ran.out.find("validation loss at iteration 2 "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("validation loss at iteration 4 "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("validation loss at iteration 6 "), std::string::npos) << ran.out;
  expect_refused(pretrain("--train-iters 6 --eval-global-batch-size 5"), "--eval-global-batch-size 5 is not divisible");
}

// The two evaluations of a run read different samples. Together they equal one evaluation of twice as many samples.
TEST_F(Evaluations, GoOnInTheSet) {
  const auto losses = [&](const std::string& more) {
    const Ran ran = must(pretrain("--train-iters 2 --lr 1e-30 --split 80,20,0 --eval-global-batch-size 4 " + more));
    return std::pair(last_number(ran.out.substr(0, ran.out.find("at iteration 2 |") + 1), "lm loss value: "),
                     last_number(ran.out, "lm loss value: "));
  };
  const auto [first, second] = losses("--eval-interval 1 --eval-iters 1");
  const auto [none, both] = losses("--eval-interval 2 --eval-iters 2");
  EXPECT_NE(first, second);
  EXPECT_NEAR((first + second) / 2, both, 1e-5);
}

TEST_F(Evaluations, SeveralSetsHaveLossesOfTheirOwn) {
  const std::string ck = trained();
  const std::string line = "pretrain-gpt --skip-train --full-validation --micro-batch-size 2 --seq-length 32 --load " +
                           ck + " --no-progress --eval-iters 0 --multiple-validation-sets --train-data-path " + data() +
                           " --valid-data-path " + data() + " " + data();
  const Ran numbered = must(line), named = must(line + " --validation-set-names wiki code");
  for (const char* part : {"validation-0 loss at", "validation-1 loss at"})
    EXPECT_EQ(times(numbered.out, part), 1) << numbered.out;
  for (const char* part : {"validation-wiki loss at", "validation-code loss at"})
    EXPECT_EQ(times(named.out, part), 1) << named.out;
  expect_refused(line + " --validation-set-names wiki", "1 names for 2");
}

}  // namespace
}  // namespace megalith::test
