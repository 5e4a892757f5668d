// Tests of megalith retro build and pretrain-retro. Documents come in pairs: 2i and 2i + 1 have different beginnings
// and the same body.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/dtype.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

constexpr int kWords = 256;  // the last id ends a document

class RetroRuns : public Workshop {
 protected:
  // A dataset of this many pairs, for --data-path.
  std::string pairs(int count) {
    std::mt19937 draw(3);
    const auto words = [&](unsigned n) {
      std::string out;
      for (unsigned i = 0; i < n; ++i) out += fmt::format("{}{}", i > 0 ? " " : "", draw() % (kWords - 1));
      return out;
    };
    std::string lines;
    for (int i = 0; i < count; ++i) {
      const std::string body = words(120 + draw() % 60);
      for (int twin = 0; twin < 2; ++twin)
        lines += fmt::format("{{\"text\": \"{} {}\"}}\n", words(3 + draw() % 6), body);
    }
    spit(*this / "pairs.jsonl", lines);
    must(
        fmt::format("preprocess-data --input {0} --output-prefix {1} --tokenizer-type NullTokenizer --vocab-size {2} "
                    "--append-eod",
                    *this / "pairs.jsonl", *this / "pairs", kWords));
    return *this / "pairs_text_document";
  }

  // The flags of the samples and of the RETRO project.
  std::string samples(const std::string& data, const std::string& project) const {
    return fmt::format(
        "--data-path {} --split 80,20,0 --tokenizer-type NullTokenizer --vocab-size {} --seq-length 48 "
        "--retro-chunk-length 8 --retro-project-dir {} --global-batch-size 4 --train-iters 4 --eval-interval 4 "
        "--eval-iters 2 ",
        data, kWords, *this / project);
  }
  std::string build(const std::string& data, const std::string& project) const {
    return "retro build --device cpu --retro-database-path " + data + " " + samples(data, project);
  }
  std::string train(const std::string& data, const std::string& more) const {
    return "pretrain-retro --device cpu --retro-add-retriever --num-layers 6 --hidden-size 16 --num-attention-heads 2 "
           "--micro-batch-size 2 --lr 1e-3 --log-interval 1 --no-progress " +
           samples(data, "project") + more;
  }
};

TEST_F(RetroRuns, BuildsTheSameBytesTwice) {
  const std::string data = pairs(10);
  must(build(data, "project")), must(build(data, "again"));
  for (const char* file : {"config.json", "chunks.npy", "neighbors_train.npy", "neighbors_valid.npy"}) {
    const std::string one = slurp(*this / "project" + "/" + file);
    EXPECT_FALSE(one.empty()) << file;
    EXPECT_TRUE(one == slurp(*this / "again" + "/" + file)) << file;
  }
}

TEST_F(RetroRuns, RanksBuildTheBytesOfOne) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun is not there";
  const std::string data = pairs(10);
  must(build(data, "project"));
  for (const int ranks : {2, 3}) {
    const std::string name = fmt::format("of{}", ranks);
    const Ran ran = megalith(build(data, name), {.ranks = ranks});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    for (const char* file : {"config.json", "chunks.npy", "neighbors_train.npy", "neighbors_valid.npy"})
      EXPECT_TRUE(slurp(*this / "project" + "/" + file) == slurp(*this / name + "/" + file)) << ranks << " " << file;
  }
}

TEST_F(RetroRuns, RanksGiveTheLossesOfOne) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun is not there";
  const std::string data = pairs(10);
  must(build(data, "project"));
  const std::string drop = "--hidden-dropout 0.1 --attention-dropout 0.1 --retro-encoder-hidden-dropout 0.1 ";
  must(train(data, drop + "--metrics-file " + *this / "one.jsonl"));
  for (const char* layout : {"--tensor-model-parallel-size 2", "--use-distributed-optimizer"}) {
    const std::string file = *this / "two.jsonl";
    fs::remove(file);
    const Ran ran = megalith(train(data, drop + layout + " --metrics-file " + file), {.ranks = 2});
    ASSERT_EQ(ran.exit_code, 0) << layout << "\n" << ran.err;
    const auto one = digits(*this / "one.jsonl"), two = digits(file);
    for (int i = 1; i <= 4; ++i)
      for (const char* key : {"lm_loss", "grad_norm"}) {
        const std::string at = fmt::format("{} {}", i, key);
        EXPECT_NEAR(std::stod(two.at(at)), std::stod(one.at(at)), 1e-5 * std::stod(one.at(at))) << layout << " " << at;
      }
  }
}

TEST_F(RetroRuns, GoesOnFromACheckpointWithTheSameDigits) {
  const std::string data = pairs(10);
  must(build(data, "project"));
  must(train(data, "--metrics-file " + *this / "whole.jsonl"));
  const std::string half = train(data, fmt::format("--save {0} --load {0} --save-interval 2 --metrics-file {1}",
                                                   *this / "saved", *this / "half.jsonl"));
  must(half + " --exit-interval 2"), must(half);
  const auto whole = digits(*this / "whole.jsonl"), parts = digits(*this / "half.jsonl");
  for (int i = 1; i <= 4; ++i)
    for (const char* key : {"lm_loss", "grad_norm"}) {
      const std::string at = fmt::format("{} {}", i, key);
      EXPECT_EQ(whole.at(at), parts.at(at)) << at;
    }
  expect_refused("convert --to hf --load " + *this / "saved" + " --save " + *this / "hf",
                 "Hugging Face has no RETRO: write native");
}

// In a file of neighbours, replaces the neighbours of each sample by those of another sample.
void shuffle_neighbors(const std::string& path) {
  std::string bytes = slurp(path);
  const size_t header = 10 + size_t(u8(bytes.at(8))) + 256 * size_t(u8(bytes.at(9))), row = 20 * sizeof(i64);
  const size_t rows = (bytes.size() - header) / row;
  ASSERT_GT(rows, 2u);
  std::rotate(bytes.begin() + std::ptrdiff_t(header), bytes.begin() + std::ptrdiff_t(header + rows / 2 * row),
              bytes.end());
  spit(path, bytes);
}

// Words are random, so only the other document of a pair helps to predict a text. The database has the documents of the
// validation set, but no model trains on them.
TEST_F(RetroRuns, NeighborsLowerTheLossOfTextsNeverTrainedOn) {
  const std::string
      data = pairs(200),
      size = fmt::format(
          "--data-path {} --split 80,20,0 --tokenizer-type NullTokenizer --vocab-size {} --seq-length 32 "
          "--retro-chunk-length 8 --retro-project-dir {} --global-batch-size 16 --train-iters 400 --eval-interval 400 "
          "--eval-iters 12 ",
          data, kWords, *this / "project");
  must("retro build --device cpu --retro-database-path " + data + " " + size);
  const auto loss = [&](const std::string& more) {
    const std::string line =
        "pretrain-retro --device cpu --num-layers 6 --hidden-size 32 --num-attention-heads 2 "
        "--retro-num-neighbors 1 --retro-encoder-layers 1 --init-method-std 0.2 --micro-batch-size 16 "
        "--lr 3e-3 --lr-decay-style constant --log-interval 100 --no-progress " +
        size + more;
    const Ran ran = megalith(line, {.seconds = 600});  // long enough for a busy machine
    EXPECT_EQ(ran.exit_code, 0) << line << "\n" << ran.err;
    return last_number(ran.out, "lm loss value:");
  };
  const std::string saved = "--retro-add-retriever --save-interval 400 --save " + *this / "saved ";
  const double alone = loss(""), with = loss(saved);
  shuffle_neighbors(*this / "project" + "/neighbors_valid.npy");
  const double shuffled = loss(saved + "--skip-train --load " + *this / "saved");
  EXPECT_LT(with, alone - 0.3);
  EXPECT_LT(with, shuffled - 0.25);
}

// If a build has no faiss, it refuses the flag and names the package to install.
TEST_F(RetroRuns, AnIndexIsBuiltOnAnyRanksOrRefusedInOneLine) {
  const std::string data = pairs(10), index = " --retro-index-str IVF8_HNSW4,Flat --retro-query-nprobe 4";
  expect_refused(build(data, "indexed") + " --retro-query-nprobe 0", "--retro-query-nprobe 0: want 1 to");
  expect_refused(build(data, "indexed") + " --retro-index-str Nothing", "--retro-index-str Nothing: ");
  for (const std::string flag :
       {"--retro-index-ntrain", "--retro-index-learn-mins", "--retro-query-nprobe", "--retro-query-ef-search"})
    expect_refused(build(data, "indexed") + " " + flag + " 5", flag + " has no effect: the search is exact");
  EXPECT_FALSE(fs::exists(*this / "indexed/config.json"));
  const Ran ran = megalith(build(data, "indexed") + index);
  if (!ran.ok()) {
    EXPECT_NE(ran.err.find("--retro-index-str IVF8_HNSW4,Flat: this build has no faiss: install libfaiss-dev"),
              std::string::npos)
        << ran.err;
    return;
  }
  EXPECT_NE(ran.out.find("> index IVF8_HNSW4,Flat: trained with "), std::string::npos) << ran.out;
  must(train(data, "--retro-project-dir " + *this / "indexed"));
  must(build(data, "again") + index);
  if (has_mpirun()) EXPECT_EQ(megalith(build(data, "of2") + index, {.ranks = 2}).exit_code, 0);
  for (const char* file : {"neighbors_train.npy", "neighbors_valid.npy"})
    for (const char* other : {"again", "of2"})
      if (fs::exists(*this / other))
        EXPECT_TRUE(slurp(*this / "indexed" + "/" + file) == slurp(*this / other + "/" + file)) << other << " " << file;
}

TEST_F(RetroRuns, RefusesNeighborsOfOtherSamples) {
  const std::string data = pairs(10);
  expect_refused(train(data, ""), "make the neighbours with megalith retro build");
  must(build(data, "project"));
  expect_refused(train(data, "--seed 7"), "has no neighbours of the");
  expect_refused(train(data, "--retro-chunk-length 16"), "have 8 tokens: give --retro-chunk-length 8");
  expect_refused(train(data, "--retro-num-neighbors 30"), "has 20 for each chunk");
  expect_refused(train(data, "--pipeline-model-parallel-size 2 --world-size 2 --dry-run"),
                 "--pipeline-model-parallel-size is not built for a RETRO");
}

}  // namespace
}  // namespace megalith::test
