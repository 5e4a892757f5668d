// Runs without --seq-length on a Hugging Face directory. Its config.json has only the longest sequence length.
#include "tests/golden.h"
#include "workshop.h"

namespace megalith::test {
namespace {

class SeqLength : public Workshop {
 protected:
  std::string said(const std::string& more) {
    return must("pretrain-gpt --load " + golden("llama") +
                " --micro-batch-size 1 --train-iters 1 --lr 1e-4 --eval-iters 0 --mock-data --tokenizer-type "
                "NullTokenizer --dry-run " +
                more)
        .out;
  }
};

TEST_F(SeqLength, TheLongestIsTakenAndSaid) {
  const std::string line = "--seq-length is not given: the run uses the model's longest, 512 tokens, with which a";
  EXPECT_NE(said("").find(line), std::string::npos);
  // 512 tokens of (44 logits + 2 layers of 16) numbers of 4 bytes
  EXPECT_NE(said("").find("need at least 0.000145 GiB a rank"), std::string::npos) << said("");
  EXPECT_EQ(said("--seq-length 16").find("--seq-length is not given"), std::string::npos);
}

}  // namespace
}  // namespace megalith::test
