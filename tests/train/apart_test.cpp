// What happens on one rank at another time than on the others, or not at all on them: no rank waits for ever, and none
// takes what another says for something else.
#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/checkpoint_layout.h"
#include "ckpt/shards.h"
#include "files.h"
#include "tests/harness/thread_ranks.h"
#include "train/background_save.h"

namespace megalith {
namespace {

// A checkpoint of its own of each of two ranks, in SAVE/RANK. `hook` sees the second rank's steps.
std::string save_apart(const std::string& dir, i64 iteration, const StepHook& hook = {}) {
  std::string error;
  harness::run_ranks(2, [&](Ranks& ranks) {
    const float value = 1;
    SaveOptions options{.keep_last = 1};
    if (ranks.rank() == 1) options.hook = hook;
    auto writer = std::make_unique<ShardWriter>(Manifest{.iteration = iteration},
                                                std::vector<SaveTensor>{{"w", {1}, DType::f32, &value}}, 0, options);
    BackgroundSave save(ranks, SaveSteps(fmt::format("{}/{}", dir, ranks.rank()), iteration, options),
                        std::move(writer), true, [] {});
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

// Copies are of use only where every rank has its own.
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
