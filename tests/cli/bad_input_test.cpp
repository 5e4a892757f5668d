// Tests of bad input. The answer to every mistake is one line that names it, within two seconds. Nothing crashes or
// hangs.
#include <filesystem>

#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class BadInput : public Workshop {
 protected:
  void refuses(const std::string& flags, const std::string& part) {
    SCOPED_TRACE(flags);
    expect_refused(pretrain("--train-iters 3 --split 80,10,10 " + flags), part);
  }
  // Checks an answer of several lines.
  void tells(const Ran& ran, const std::string& part) {
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  }
  void tells(const std::string& flags, const std::string& part) {
    tells(megalith(pretrain("--train-iters 3 --split 80,10,10 " + flags)), part);
  }
};

TEST_F(BadInput, Flags) {
  expect_refused("pretrain-gpt", "missing required flags: --num-layers, --hidden-size");
  refuses("--num-layer 3", "--num-layers");
  refuses("--num-layers", "--num-layers");
  refuses("--num-layers two", "'two'");
  refuses("--lr nan", "'nan'");
  refuses("--lr -1", "--lr -1");
  refuses("--micro-batch-size -1", "--micro-batch-size -1");
  refuses("--micro-batch-size 0", "--micro-batch-size");
  refuses("--num-attention-heads 5", "--num-attention-heads 5");
  refuses("--num-query-groups 3", "--num-query-groups 3");
  refuses("--global-batch-size 7", "--global-batch-size 7");
  refuses("--hidden-dropout 2", "--hidden-dropout 2");
  refuses("--tokenizer-type Foo", "\"Foo\"");
  refuses("--tokenizer-type GPT2BPETokenizer", "--vocab-file");
  refuses("--vocab-size 100", "257 tokens");
  refuses("--device gpu", "--device gpu: want auto, cpu or cuda");
  refuses("--device h100", "--device h100: want auto, cpu or cuda");
  tells("--use-bnb-optimizer", "--use-bnb-optimizer");
  refuses("--tensor-model-parallel-size 2", "start a multiple of 2 ranks");
  refuses("--expert-model-parallel-size 2", "--expert-model-parallel-size 2 shares out experts and there are none");
  refuses("--world-size 2", "--world-size is for --dry-run");
  refuses("--config " + *this / "missing.yaml", "missing.yaml");
  refuses("--save " + *this / "x", "--save-interval");
  refuses("--split 1,2,3,4", "1,2,3,4");
  refuses("--split 0,1,0", "nothing to train on");
  refuses("--train-iters 100000000000", "too often");
  refuses("--config=", "--config wants the name");
  tells("--config a.yaml --config b.yaml", "--config is given twice");
  EXPECT_EQ(megalith("").exit_code, 2);
  EXPECT_EQ(megalith("trian").exit_code, 2);
}

// Whatever an argument contains, the message is one line.
TEST_F(BadInput, LineBreaksInWords) {
  tells(run_program("megalith", {"pretrain-gpt", "--num-layers", "2\n3"}), "'2\\n3' is not a whole number");
  expect_refused(run_program("megalith", {"inspect", "a\nb"}), "a\\nb is not there");
  expect_refused(run_program("megalith", {"inspect", "corpus/text.idx"}),
                 "corpus/text.idx is not there: give the prefix that the dataset's .bin and .idx have");
  EXPECT_EQ(run_program("megalith", {"pre\ntrain"}).err,
            "megalith: there is no command 'pre\\ntrain': megalith --help lists them\n");
}

TEST_F(BadInput, OtherCommands) {
  const std::string ck = *this / "ck", td = *this / "td";
  must(pretrain("--train-iters 1 --split 80,10,10 --save-interval 1 --save " + ck));
  must("convert --load " + ck + " --to torch_dist --save " + td);
  for (const char* to : {"native", "torch_dist"})
    expect_refused("convert --load " + td + " --to " + to + " --save " + td, "already exists");
  expect_refused("convert --load " + ck + " --to hf --save " + ck + "/", "one directory cannot hold two formats");
  const std::string convert = "convert --load " + td + " --to hf --save " + *this / "hf";
  expect_refused(convert + " --ckpt-step -1", "--ckpt-step -1");
  expect_refused(convert + " --vocab-size -1", "--vocab-size -1");
  expect_refused(convert + " --vocab-size 7", "--vocab-size 7: the checkpoint");
  expect_refused(convert + " --tokenizer-dir " + *this / "none", "no such directory");
  must("convert --load " + ck + " --to hf --no-load-optim --save " + *this / "hf");
  expect_refused("convert --load " + *this / "hf --to native --save " + *this / "hf",
                 "one directory cannot hold two formats");
  expect_refused("generate --prompt a --load " + *this / "hf", "names no tokenizer");
  expect_refused("generate --prompt a --ckpt-step -1 --load " + ck, "--ckpt-step -1");
  expect_refused("inspect " + ck + " --ckpt-step -1", "--ckpt-step -1");
  expect_refused("merge-datasets --input " + data() + " --output-prefix " + *this / "", "is a folder");
  expect_refused("merge-datasets --input " + data() + ".bin --output-prefix " + *this / "m",
                 "common prefix, " + data());
  expect_refused("flags --all", "no arguments");
  const Ran twice = must("generate --prompt a --tokens-to-generate 1 --load " + *this / "none --load " + ck);
  EXPECT_NE(twice.err.find("warning: --load "), std::string::npos) << twice.err;
  EXPECT_EQ(must("inspect " + data()).out, must("inspect " + data() + ".bin").out);
}

TEST_F(BadInput, FlagsOfSeveralRanksAreToldOnce) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun here";
  const Ran ran = megalith("pretrain-gpt --num-layer 3", {.ranks = 3});
  EXPECT_EQ(ran.exit_code, 1);
  const size_t told = ran.err.find("unknown flag --num-layer");
  ASSERT_NE(told, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.rfind("unknown flag"), told) << ran.err;
}

TEST_F(BadInput, Places) {
  spit(*this / "file", "hello\n");
  fs::create_directories(*this / "empty");
  refuses("--load " + *this / "file", "this is a file");
  refuses("--load " + *this / "missing" + " --exit-on-missing-checkpoint", "it has no checkpoint");
  refuses("--load " + *this / "empty" + " --exit-on-missing-checkpoint", "it has no checkpoint");
  refuses("--load " + *this / "empty" + " --ckpt-step 7", "--ckpt-step 7: " + *this / "empty has no checkpoint");
  refuses("--save " + *this / "file" + " --save-interval 1", "file: this is a file, want a directory");
  refuses("--tensorboard-dir " + *this / "file", "file: this is a file, want a directory");
  refuses("--metrics-file " + *this / "file", "line 1 is not a metrics line");
  refuses("--metrics-file " + *this / "empty", "empty");
  const Ran empty = must(pretrain("--train-iters 1 --split 80,10,10 --load " + *this / "empty"));
  EXPECT_NE(empty.out.find("starting from random weights"), std::string::npos);
  const Ran missing = must(pretrain("--train-iters 1 --split 80,10,10 --load " + *this / "missing"));
  EXPECT_NE(missing.out.find("starting from random weights"), std::string::npos);
  EXPECT_NE(missing.err.find("missing: the directory does not exist yet"), std::string::npos);
  spit(*this / "empty/model-00001-of-00002.safetensors", "x");
  refuses("--load " + *this / "empty", "there are weights (model-00001-of-00002.safetensors), but no config.json");
}

TEST_F(BadInput, Sizes) {
  refuses("--hidden-size 1099511627776 --num-attention-heads 1", "out of range");
  refuses("--hidden-size 99999999999999999999", "too large");
  refuses("--num-layers 1000000", "at most 1024 can be planned");
  refuses("--vocab-size 1000000000000", "no micro-batch size fits");
  refuses("--seq-length 1000000000", "no micro-batch size fits");
  refuses("--micro-batch-size 1048576", "--micro-batch-size ");
  refuses("--micro-batch-size 1000000000000", " fits");  // without a search for its divisors
  refuses("--num-layers 16 --hidden-size 256 --micro-batch-size 262144", " fits");
}

// The micro-batch size that the answer proposes is valid.
TEST_F(BadInput, ProposedMicroBatchIsPlannable) {
  const Ran ran = megalith(pretrain("--train-iters 1 --split 80,10,10 --micro-batch-size 1048576 --num-layers 4"));
  expect_refused(ran, " fits");
  const i64 fits = i64(last_number(ran.err, "--micro-batch-size "));
  ASSERT_GT(fits, 0) << ran.err;
  EXPECT_EQ(1048576 % fits, 0);
  const auto total = [&](i64 b) {
    return last_number(
        must(pretrain(fmt::format("--dry-run --train-iters 1 --split 80,10,10 --global-batch-size 1048576 "
                                  "--num-layers 4 --micro-batch-size {}",
                                  b)))
            .out,
        "\n  total ");
  };
  const double available = last_number(ran.err, "of memory, ") * (1 << 20);
  EXPECT_LT(total(fits), available * 1.05);
  EXPECT_GT(total(2 * fits), available * 0.95);
}

TEST_F(BadInput, OddButFine) {
  for (const char* flags :
       {"--seq-length 1", "--seq-length 63", "--micro-batch-size 3", "--hidden-size 34 --num-attention-heads 2",
        "--split 100,0,0 --eval-interval 1", "--num-layers 1", "--num-workers 0"})
    must(pretrain(std::string("--train-iters 2 --split 80,10,10 ") + flags));
}

TEST_F(BadInput, Datasets) {
  const std::string bin = slurp(data() + ".bin"), idx = slurp(data() + ".idx"), damaged = *this / "damaged";
  const auto with = [&](const std::string& b, const std::string& i, const std::string& part) {
    spit(damaged + ".bin", b), spit(damaged + ".idx", i);
    refuses("--data-path " + damaged, part);
  };
  with(bin.substr(0, bin.size() / 2), idx, "damaged.bin");
  with(bin, idx.substr(0, idx.size() - 9), "damaged.idx");
  with(bin, idx.substr(0, 12), "damaged.idx");
  with(bin, "", "damaged.idx");
  with("", idx, "damaged.bin");
  with(bin, std::string(400, 'x'), "damaged.idx");
  std::string negative = idx;
  negative.replace(34, 4, "\xff\xff\xff\xff");
  with(bin, negative, "damaged.idx");
  refuses("--data-path " + *this / "nothing", "nothing.idx");
  refuses("--data-path /tmp", "/tmp is a folder");
  for (const char* ending : {".idx", ".bin"}) refuses("--data-path " + data() + ending, "common prefix, " + data());
  fs::create_directories(*this / "folder.idx"), fs::create_directories(*this / "folder.bin");
  refuses("--data-path " + *this / "folder", "not a regular file");
}

TEST_F(BadInput, EmptyDocuments) {
  spit(*this / "blank.jsonl", "{\"text\": \"\"}\n{\"text\": \"\"}\n");
  const std::string to =
      " --tokenizer-type ByteTokenizer --input " + *this / "blank.jsonl" + " --output-prefix " + *this / "blank";
  must("preprocess-data" + to);
  refuses("--split 100,0,0 --data-path " + *this / "blank_text_document", "blank_text_document");
}

// A read fails. The error names file, document and token, and the run saves the completed steps.
TEST_F(BadInput, TokensOutsideTheVocabulary) {
  std::string bin = slurp(data() + ".bin");
  const std::string damaged = *this / "damaged";
  spit(damaged + ".idx", slurp(data() + ".idx"));
  for (size_t at = bin.size() / 4 * 2; at < bin.size(); at += 5000) bin[at] = '\x05', bin[at + 1] = '\x05';
  spit(damaged + ".bin", bin);
  const Ran ran =
      megalith(pretrain("--train-iters 100000 --lr-decay-iters 10 --split 100,0,0 --eval-iters 0 --data-path " +
                        damaged + " --save-interval 100000 --save " + *this / "ck"));
  EXPECT_EQ(ran.exit_code, 1);
  for (const char* part : {"damaged holds token ", " at position ", " of document ", "outside the vocabulary of 257"})
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  if (ran.out.find(" iteration ") != std::string::npos) {
    EXPECT_NE(ran.out.find("successfully saved checkpoint"), std::string::npos);
  }
}

TEST_F(BadInput, Preprocessing) {
  const std::string go =
      "preprocess-data --tokenizer-type ByteTokenizer --output-prefix " + *this / "out" + " --input ";
  spit(*this / "broken.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"text\": \"c\n");
  expect_refused(go + *this / "broken.jsonl", "3");
  spit(*this / "key.jsonl", "{\"text\": \"a\"}\n{\"txt\": \"b\"}\n");
  expect_refused(go + *this / "key.jsonl", "2");
  spit(*this / "kind.jsonl", "{\"text\": 5}\n");
  expect_refused(go + *this / "kind.jsonl", "1");
  expect_refused(go + *this / "missing.jsonl", "missing.jsonl");
  expect_refused(go + *this / "", "");
  expect_refused(run_program("megalith", {"preprocess-data", "--tokenizer-type", "ByteTokenizer", "--output-prefix",
                                          *this / "out", "--input", *this / "kind.jsonl", "--json-keys", ""}),
                 "--json-keys holds an empty name");
  expect_refused("preprocess-data --input " + *this / "kind.jsonl",
                 "missing required flags: --output-prefix, --tokenizer-type");
  spit(*this / "fine.txt", "fine\n");
  expect_refused("preprocess-data --tokenizer-type ByteTokenizer --input " + *this / "fine.txt" + " --output-prefix " +
                     *this / "no/such/folder",
                 "no/such/folder");
  expect_refused("preprocess-data --tokenizer-type GPT2BPETokenizer --output-prefix y --input " + *this / "fine.txt",
                 "--vocab-file");
  for (const auto& entry : fs::directory_iterator(fs::path(*this / "x").parent_path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("out")) << entry.path();  // no incomplete file is left
}

}  // namespace
}  // namespace megalith::test
