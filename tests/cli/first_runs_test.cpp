// Runs with ordinary but inconvenient data. Padding is the end-of-text token, or batches have no labels. Sets do not
// fill a batch, documents are few, or data are missing.
#include <filesystem>

#include "data/indexed_dataset_writer.h"
#include "tests/places.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class FirstRuns : public Workshop {
 protected:
  // A dataset whose documents are lists of token ids.
  std::string numbers(const std::string& name, const std::vector<std::vector<i32>>& documents) {
    IndexedDatasetWriter writer(*this / name, TokenType::uint16);
    for (const std::vector<i32>& tokens : documents) writer.add_sequence(tokens), writer.end_document();
    writer.finish();
    return *this / name;
  }
  // The flags of a small model with 64 ids. The id 63 ends a text.
  static std::string model(const std::string& more) {
    return "--num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 8 --max-position-embeddings 16 "
           "--tokenizer-type NullTokenizer "
           "--vocab-size 64 --micro-batch-size 1 --lr 1e-2 --no-progress --log-interval 1 " +
           more;
  }
  // A checkpoint of this model after one step.
  std::string trained() {
    must("pretrain-gpt " +
         model("--mock-data --train-iters 1 --eval-iters 0 --save-interval 1 --save " + *this / "ck"));
    return *this / "ck";
  }
};

TEST_F(FirstRuns, EndsOfTextThatArePaddingToo) {
  const std::string data = numbers("texts", {{1, 2, 3, 63, 4, 63, 5, 6, 63, 63}});
  const std::string line = "evaluate --load " + trained() + " --data-path " + data + " --split 0,1,0 --seq-length 9 " +
                           "--tokenizer-type NullTokenizer --vocab-size 64 ";
  const Ran plain = must(line), same = must(line + "--null-tokenizer-pad-id 63"),
            masked = must(line + "--null-tokenizer-pad-id 63 --allow-ambiguous-pad-tokens");
  EXPECT_NE(plain.out.find("| tokens 9 |"), std::string::npos) << plain.out;
  EXPECT_EQ(last_number(same.out, "lm loss "), last_number(plain.out, "lm loss "));
  EXPECT_NE((same.out + same.err).find("is not used as padding"), std::string::npos) << same.out << same.err;
  EXPECT_NE(masked.out.find("| tokens 5 |"), std::string::npos) << masked.out;
}

TEST_F(FirstRuns, EvaluateReadsEverySample) {
  const std::string data =
      numbers("texts", {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {9, 8, 7, 6, 5, 4, 3, 2}, {1, 3, 5, 7, 9, 11, 13, 15}});
  const std::string line = "evaluate --load " + trained() + " --data-path " + data + " --split 0,1,0 --seq-length 8 " +
                           "--micro-batch-size ";
  const double one = last_number(must(line + "1").out, "lm loss ");
  for (const char* size : {"2", "3", "4"}) {
    const Ran ran = must(line + size);
    EXPECT_NE(ran.out.find("samples 3 | tokens 24 |"), std::string::npos) << ran.out;
    EXPECT_NEAR(last_number(ran.out, "lm loss "), one, 1e-5);
  }
}

TEST_F(FirstRuns, ABatchWithoutLabelsHasNoLoss) {
  const std::string data = numbers("ends", std::vector<std::vector<i32>>(40, {63}));
  const Ran ran =
      must("pretrain-gpt " + model("--train-iters 2 --eval-interval 1 --eval-iters 1 --eod-mask-loss --split 1,1,0 "
                                   "--data-path " +
                                   data));
  EXPECT_EQ(last_number(ran.out, "lm loss: "), 0);
  EXPECT_EQ(last_number(ran.out, "lm loss value: "), 0);
  EXPECT_EQ(last_number(ran.out, "grad norm: "), 0);
  EXPECT_EQ(last_number(ran.out, "skipped iterations: "), 0);
  EXPECT_NE(ran.err.find("iteration 1: all labels of its 1 samples are masked"), std::string::npos) << ran.err;
}

TEST_F(FirstRuns, FewDocumentsGoWithoutTheSmallSets) {
  const std::string data = numbers("few", std::vector<std::vector<i32>>(12, {1, 2, 3, 4, 5, 6, 7, 8, 63}));
  const Ran ran = must("pretrain-gpt " + model("--train-iters 2 --eval-interval 1 --eval-iters 1 --data-path " + data));
  EXPECT_NE(ran.out.find("gives to the test set: the run continues without them"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("gives to the valid set: the run continues without them"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("validation loss"), std::string::npos) << ran.out;
}

TEST_F(FirstRuns, ADryRunOpensNoData) {
  const Ran missing =
      must("pretrain-gpt " + model("--train-iters 480000 --global-batch-size 1024 --dry-run --data-path " +
                                   *this / "none_text_document"));
  EXPECT_NE(missing.out.find("none_text_document.idx does not exist"), std::string::npos) << missing.out;
  spit(*this / "broken.idx", "no index");
  const Ran there = must("pretrain-gpt " + model("--train-iters 480000 --dry-run --data-path " + *this / "broken"));
  EXPECT_EQ(there.out.find("does not exist"), std::string::npos) << there.out;
}

// Writes a NaN over one number of the last tensor of a hub directory.
TEST_F(FirstRuns, NonFiniteWeightsEndTheRun) {
  const std::string ck = trained();
  must("convert --to hf --load " + ck + " --save " + *this / "hf");
  std::string weights = slurp(*this / "hf/model.safetensors");
  weights.replace(weights.size() - 4, 4, std::string("\0\0\xc0\x7f", 4));
  spit(*this / "hf/model.safetensors", weights);
  const std::string line =
      "pretrain-gpt --load " + *this / "hf" + " --finetune --mock-data --tokenizer-type NullTokenizer " +
      "--seq-length 8 --micro-batch-size 1 --lr 1e-3 --train-iters 60 --eval-iters 0 --no-progress "
      "--save-interval 2 --save " +
      *this / "after";
  const Ran ran = megalith(line);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.err.find("weights are not finite (NaN or infinite), so no step can count"), std::string::npos)
      << ran.err;  // before a save would refuse the weights
  EXPECT_FALSE(fs::exists(*this / "after/iter_0000002"));
  // If the run continues, it still saves nothing.
  const Ran on = megalith(line + " --max-skipped-iterations-in-a-row 0 --train-iters 3");
  EXPECT_EQ(on.exit_code, 1);
  EXPECT_NE(on.err.find("at iteration 2 was not saved"), std::string::npos) << on.err;
  EXPECT_FALSE(fs::exists(*this / "after/iter_0000002"));
}

TEST_F(FirstRuns, SkippedIterationsInARowEndTheRun) {
  const Ran ran =
      megalith("pretrain-gpt " + model("--mock-data --train-iters 60 --eval-iters 0 --lr 1e30 --clip-grad 0 "
                                       "--lr-decay-style constant --max-skipped-iterations-in-a-row 4"));
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_TRUE(ran.err.find("4 iterations in a row are skipped") != std::string::npos ||
              ran.err.find("weights are not finite") != std::string::npos)
      << ran.err;
}

}  // namespace
}  // namespace megalith::test
