// Tests of events that occur on one rank only, or at other times on different ranks. No rank may wait forever, or
// misinterpret another rank's message.
#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/shards.h"
#include "data/indexed_dataset_writer.h"
#include "exec/cpu/backend.h"
#include "files.h"
#include "options_helpers.h"
#include "resume/background_save.h"
#include "scripted_device.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_backend.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

// Results of a step are ready on one of two ranks immediately. On the other rank they are ready only when it waits for
// them.
class UnevenBackend final : public test::WrappedBackend {
 public:
  explicit UnevenBackend(int rank) : WrappedBackend(make_cpu_backend()), rank_(rank) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan&, const Coord&) const override {
    return std::make_unique<ScriptedInterpreter>(std::vector<bool>(100, true), rank_ == 1);
  }

 private:
  int rank_;
};

struct Ended {
  std::string out, error;
};
Ended run_apart(const std::string& flags) {
  Ended ended;
  testing::internal::CaptureStdout();
  try {
    harness::run_ranks(2, [&](Ranks& ranks) {
      Options o =
          read_line(std::string(kSmallRun) + "--vocab-size 101 --no-progress --log-interval 1 --eval-iters 0 " + flags);
      o.data.eod = 100, o.data.seq_length = 32, o.data.vocab_size = 101;
      o.parallel.world_size = 2;
      finish_options(o);
      pretrain(o, UnevenBackend(ranks.rank()), ranks);
    });
  } catch (const std::exception& e) {
    ended.error = e.what();
  }
  ended.out = testing::internal::GetCapturedStdout();
  return ended;
}

i64 lines_with(const std::string& text, const std::string& what) {
  i64 count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Apart, ResultsThatOneRankHasBeforeTheOther) {
  const Ended stragglers = run_apart("--log-straggler");
  EXPECT_EQ(stragglers.error, "");
  EXPECT_EQ(lines_with(stragglers.out, "own compute time"), 20) << stragglers.out;  // ten lines of each rank
  const Ended norms = run_apart("--log-params-norm");
  EXPECT_EQ(norms.error, "");
  EXPECT_EQ(lines_with(norms.out, "params norm: "), 20) << norms.out;
  EXPECT_EQ(run_apart("--log-memory-to-tensorboard").error, "");  // the ranks exchange messages here
  EXPECT_EQ(run_apart("").error, "");
}

TEST(Apart, DataThatOneRankCannotRead) {
  const TempFolder folder("apart");
  const std::string data = (folder.path / "text").string(), saved = (folder.path / "ck").string();
  IndexedDatasetWriter writer(data, TokenType::uint16);
  for (int d = 0; d < 60; ++d) {
    std::vector<i32> tokens(33, d % 50);
    if (d == 17 || d == 43) tokens[16] = 5000;
    writer.add_sequence(tokens);
    writer.end_document();
  }
  writer.finish();
  const Ended ended = run_apart("--mock-data=false --split 1,0,0 --global-batch-size 4 --data-path " + data +
                                " --save " + saved + " --save-interval 100");
  EXPECT_NE(ended.error.find("text holds token 5000 at position 16 of document"), std::string::npos) << ended.error;
  EXPECT_FALSE(std::filesystem::exists(saved + "/" + kLatestFile)) << ended.out;  // steps differ
}

// Each of two ranks saves its own checkpoint in SAVE/RANK. `hook` gets the second rank's file steps.
std::string save_apart(const std::string& dir, i64 iteration, const StepHook& hook = {}) {
  std::string error;
  harness::run_ranks(2, [&](Ranks& ranks) {
    const float value = 1;
    std::filesystem::create_directories(fmt::format("{}/{}", dir, ranks.rank()));
    SaveOptions options{.keep_last = 1};
    if (ranks.rank() == 1) options.hook = hook;
    BackgroundSave save(ranks, SaveSteps(fmt::format("{}/{}", dir, ranks.rank()), iteration, options), true, [&] {
      return std::make_unique<ShardWriter>(Manifest{.iteration = iteration},
                                           std::vector<SaveTensor>{{"w", {1}, DType::f32, &value}}, 0, options);
    });
    const std::string told = save.wait().error;
    if (ranks.rank() == 0) error = told;
  });
  return error;
}

std::vector<i64> saved_in(const std::string& dir) {
  std::vector<i64> found;
  for (const FoundCheckpoint& c : list_checkpoints(dir)) found.push_back(c.iteration);
  return found;
}

// A non-persistent checkpoint is only useful if every rank has its own.
TEST(Apart, CopyThatOneRankCannotSaveCostsNoRankTheOneBefore) {
  const TempFolder folder("copies");
  const std::string dir = folder.path.string();
  EXPECT_EQ(save_apart(dir, 1), "");
  const std::string error = save_apart(dir, 2, [](const FileStep& step) {
    if (step.kind == "rename") throw Error("the disk is gone");
  });
  EXPECT_EQ(error, "rank 1: the disk is gone");
  EXPECT_EQ(saved_in(dir + "/0"), (std::vector<i64>{1, 2}));
  EXPECT_EQ(saved_in(dir + "/1"), (std::vector<i64>{1}));
  EXPECT_EQ(save_apart(dir, 3), "");
  EXPECT_EQ(saved_in(dir + "/0"), (std::vector<i64>{3}));
  EXPECT_EQ(saved_in(dir + "/1"), (std::vector<i64>{3}));
}

}  // namespace
}  // namespace megalith
