// A command line with several mistakes is answered once, with all of them.
#include "workshop.h"

#include <fmt/format.h>

namespace megalith::test {

namespace {

// Exactly these parts, one a line.
void expect_mistakes(const std::string& line, const std::vector<std::string>& parts) {
  const Ran ran = megalith(line);
  for (const std::string& part : parts) expect_refused(ran, part);
  EXPECT_NE(ran.err.find(fmt::format("{} things stop this:", parts.size())), std::string::npos) << line << ran.err;
}

}  // namespace

TEST(AllAtOnce, OfGenerate) {
  expect_mistakes("generate --prompt a --tokens-to-generate 0 --temperature -1 --top-p 2 --top-k x --ckpt-step -4",
                  {"missing required flags: --load", "--tokens-to-generate is 0", "--temperature is -1", "--top-p is 2",
                   "--top-k", "--ckpt-step -4"});
  expect_mistakes("generate --prompt a --lod b --top-p 2", {"--lod", "--top-p is 2"});
}

TEST(AllAtOnce, OfEvaluate) {
  expect_mistakes("evaluate --load /nowhere --mikro-batch-size 2 --data-path x", {"--mikro-batch-size", "/nowhere"});
  expect_mistakes("evaluate --mikro-batch-size 2 --load", {"--mikro-batch-size", "--load wants a value"});
}

TEST(AllAtOnce, OfConvert) {
  expect_mistakes(
      "convert --load a --to native --family llama --max-shard-size 5Q --vocab-size -1 --dtype f7 "
      "--tokenizer-dir /nowhere --from x",
      {"missing required flags: --save", "--family llama has no effect", "--max-shard-size 5Q has no effect", "5Q",
       "--vocab-size -1", "f7", "/nowhere", "--from 'x'"});
}

TEST(AllAtOnce, OfSubmit) {
  expect_mistakes(
      "submit --trainjob --docker --nodes 200000 --name A_B --volume data",
      {"2 kinds of job", "--nodes 200000: want 1 to 100000", "--name A_B", "--volume data", "--image is required",
       "the training command is missing", "--docker runs on one node", "give --out FILE"});
}

TEST(AllAtOnce, OfSmallCommands) {
  expect_mistakes("preprocess-data --workers x", {"--workers", "missing required flags: --input, --output-prefix"});
  expect_mistakes("merge-datasets --output-prefix a/ --inputs b", {"--inputs", "--output-prefix a/ is a folder"});
  expect_mistakes("inspect --ckpt-step -1 --all --load x", {"--ckpt-step -1", "--all has no effect"});
  expect_mistakes("report --baseline-metrics x", {"--save directory of a run", "--baseline-metrics needs --baseline"});
  expect_mistakes("compare a --tolerance -1", {"two runs", "--tolerance -1"});
}

}  // namespace megalith::test
