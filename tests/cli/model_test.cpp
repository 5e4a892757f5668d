// Tests of generate, evaluate and convert with checkpoints and Hugging Face directories.
#include <filesystem>

#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class Models : public Workshop {
 protected:
  // A checkpoint of a small model. It is trained a little, so that its output depends on the prompt.
  std::string checkpoint(const std::string& flags =
                             "--position-embedding-type rope --swiglu --normalization RMSNorm "
                             "--disable-bias-linear --untie-embeddings-and-output-weights") {
    must(
        pretrain("--train-iters 60 --micro-batch-size 8 --init-method-std 0.1 --max-position-embeddings 512 "
                 "--save-interval 60 --save " +
                 *this / "ck " + flags));
    return *this / "ck";
  }
  std::string generate(const std::string& load, const std::string& more) {
    return must("generate --load " + load + " --tokenizer-type ByteTokenizer --prompt the --tokens-to-generate 40 " +
                more)
        .out;
  }
  std::string evaluate(const std::string& load, const std::string& more = "") {
    const std::string out = must("evaluate --load " + load +
                                 " --tokenizer-type ByteTokenizer --seq-length 32 --eval-iters 5 "
                                 "--data-path " +
                                 data() + " " + more)
                                .out;
    return out.substr(out.find("samples "));
  }
};

TEST_F(Models, SameSeedSameText) {
  const std::string dir = checkpoint();
  const std::string a = generate(dir, "--seed 1"), b = generate(dir, "--seed 2");
  EXPECT_EQ(a, generate(dir, "--seed 1"));
  EXPECT_NE(a, b);
  EXPECT_EQ(a.substr(0, 3), "the");
  const std::string greedy = generate(dir, "--greedy");
  EXPECT_EQ(greedy, generate(dir, "--temperature 0 --seed 9"));
  EXPECT_EQ(greedy, generate(dir, "--top-k 1"));
  EXPECT_FALSE(generate(dir, "--bf16 --top-p 0.9").empty());
}

// Conversions to both kinds of directory and back change nothing: bytes, text and loss are the same.
TEST_F(Models, SurviveConversion) {
  for (const char* flags : {"--position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear "
                            "--untie-embeddings-and-output-weights --num-query-groups 1",
                            ""}) {
    for (const char* old : {"ck", "hf", "back", "again"}) fs::remove_all(*this / old);
    const std::string dir = checkpoint(flags), hf = *this / "hf", back = *this / "back", again = *this / "again";
    must("convert --to hf --load " + dir + " --save " + hf);
    must("convert --to native --load " + hf + " --save " + back);
    must("convert --to hf --load " + back + " --save " + again);
    EXPECT_TRUE(slurp(hf + "/model.safetensors") == slurp(again + "/model.safetensors"));
    const std::string text = generate(dir, "--greedy"), loss = evaluate(dir);
    for (const std::string& other : {hf, back, again}) {
      EXPECT_EQ(generate(other, "--greedy"), text) << other;
      EXPECT_EQ(evaluate(other), loss) << other;
    }
  }
}

// Training starts from a converted model: at iteration 0, with its weights.
TEST_F(Models, TrainOnFromAHubDirectory) {
  const std::string dir = checkpoint();
  must("convert --to hf --load " + dir + " --save " + *this / "hf");
  must("convert --to native --load " + *this / "hf" + " --save " + *this / "native");
  const double fresh = 5.5;
  for (const char* from : {"hf", "native"}) {
    const Ran ran = must(
        "pretrain-gpt --seq-length 32 --micro-batch-size 8 --train-iters 2 --lr 1e-4 --log-interval 1 "
        "--eval-iters 1 --tokenizer-type ByteTokenizer --data-path " +
        data() + " --load " + *this / from);
    EXPECT_NE(ran.out.find("iteration        1/       2 | consumed samples:            8"), std::string::npos);
    EXPECT_LT(last_number(ran.out, "lm loss: "), fresh - 1) << from;
  }
  const Ran wrong = megalith(pretrain("--train-iters 2 --num-layers 3 --load " + *this / "hf"));
  expect_refused(wrong, "holds another model");
  EXPECT_NE(wrong.err.find("num_layers: "), std::string::npos) << wrong.err;
}

// An export keeps the class and the ids of special tokens of the original model.
TEST_F(Models, StayWhatTheyWereThroughTraining) {
  must("convert --to hf --family mistral --load " + checkpoint() + " --save " + *this / "hf");
  std::string config = slurp(*this / "hf/config.json");
  const std::string ids = "\"eos_token_id\": ";
  const size_t at = config.find(ids) + ids.size();
  spit(*this / "hf/config.json", config.replace(at, config.find_first_of(",\n", at) - at, "7"));
  const std::string go =
      "pretrain-gpt --seq-length 32 --micro-batch-size 8 --lr 1e-4 --lr-decay-iters 9 --tokenizer-type ByteTokenizer "
      "--save-interval 2 --data-path " +
      data();
  must(go + " --train-iters 2 --load " + *this / "hf" + " --save " + *this / "run");
  must(go + " --train-iters 4 --load " + *this / "run" + " --save " + *this / "dist --ckpt-format torch_dist");
  must(go + " --train-iters 6 --load " + *this / "dist" + " --save " + *this / "dist");
  must("convert --to hf --load " + *this / "dist" + " --save " + *this / "out");
  const std::string out = slurp(*this / "out/config.json");
  for (const char* part : {"\"MistralForCausalLM\"", "\"eos_token_id\": 7"})
    EXPECT_NE(out.find(part), std::string::npos) << part << out;
}

TEST_F(Models, LossOfTheLastCheckpointIsTheRunsOwn) {
  const Ran run = must(pretrain(
      "--train-iters 20 --split 80,20,0 --eval-interval 20 --eval-iters 5 --save-interval 20 --save " + *this / "ck"));
  const double in_training = last_number(run.out, "lm loss value: ");
  const Ran alone = must("evaluate --load " + *this / "ck" +
                         " --micro-batch-size 2 --eval-iters 5 --split 80,20,0 --data-path " + data());
  EXPECT_NEAR(last_number(alone.out, "lm loss "), in_training, 1e-6);
}

TEST_F(Models, OddPrompts) {
  const std::string dir = checkpoint();
  const std::vector<std::string> base = {"generate", "--load",   dir,       "--tokens-to-generate",
                                         "5",        "--greedy", "--prompt"};
  for (const char* prompt : {"\xff\xfe\x80", "\xf0\x9f\x98\x80", " ", "\n\t", "a\x01\x02", "{}%s{0}"}) {
    std::vector<std::string> words = base;
    words.push_back(prompt);
    const Ran ran = run_program("megalith", words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.out.find(prompt), 0u) << ran.out;
  }
}

TEST_F(Models, RefuseBadRequests) {
  const std::string dir = checkpoint(), go = "generate --load " + dir + " --prompt a ";
  expect_refused(go + "--tokens-to-generate 0", "--tokens-to-generate is 0");
  expect_refused(go + "--tokens-to-generate -3", "--tokens-to-generate is -3");
  expect_refused(go + "--tokens-to-generate 99999999999999", "--tokens-to-generate");
  expect_refused(go + "--tokens-to-generate 2000000000", "MiB");
  expect_refused(go + "--temperature -1", "--temperature");
  expect_refused(go + "--top-p 2", "--top-p");
  expect_refused(go + "--tokenizer-type NullTokenizer", "\"a\" is not a token id");
  expect_refused("generate --load " + dir, "--prompt");
  expect_refused("generate --prompt a --load " + *this / "nothing", "no such directory");
  expect_refused("generate --prompt a --load " + dir + " --ckpt-step 7", "iterations [60]");
  expect_refused("evaluate --load " + *this / "nothing" + " --data-path x", "no such directory");
  expect_refused("evaluate --data-path x", "--load");
  expect_refused("convert --to hf --load " + dir + " --save " + dir + "/latest_checkpointed_iteration.txt", "ck");
  expect_refused("convert --to hf --load " + *this / "nothing" + " --save " + *this / "x", "no such directory");
  expect_refused("convert --to onnx --load " + dir + " --save " + *this / "x", "--to 'onnx'");
  expect_refused("convert --to hf --dtype f8 --load " + dir + " --save " + *this / "x", "--dtype f8");
  fs::create_directories(*this / "empty");
  expect_refused("generate --prompt a --load " + *this / "empty", "is empty");
}

TEST_F(Models, RefuseDamagedFiles) {
  const std::string dir = checkpoint(), hf = *this / "hf";
  must("convert --to hf --load " + dir + " --save " + hf);
  const std::string go = " --tokenizer-type ByteTokenizer --prompt a --tokens-to-generate 2";
  const std::string whole = slurp(hf + "/model.safetensors");
  for (const size_t bytes : {size_t{0}, size_t{5}, size_t{100}, whole.size() - 1}) {
    spit(hf + "/model.safetensors", whole.substr(0, bytes));
    expect_refused("generate --load " + hf + go, "model.safetensors");
  }
  spit(hf + "/model.safetensors", whole);
  spit(hf + "/config.json", "{");
  expect_refused("generate --load " + hf + go, "config.json");
  const std::string shard = dir + "/iter_0000060/shard_00000.safetensors", all = slurp(shard);
  spit(shard, all.substr(0, all.size() / 2));
  expect_refused("generate --load " + dir + go, "shard_00000.safetensors");
}

}  // namespace
}  // namespace megalith::test
