// What a directory holds, and which of several checkpoints of several formats is opened.
#include "ckpt/any_checkpoint.h"

#include "ckpt/convert.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

class AnyCheckpoints : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(fixture("llama"))) GTEST_SKIP() << "fixtures are not here";
  }
  // A checkpoint of the fixture in dir_/to, as this iteration.
  void put(const std::string& to, CkptFormat format, i64 iteration) {
    AnyCheckpoint from = open_any_checkpoint(fixture("llama"));
    from.manifest.iteration = iteration;
    convert_checkpoint(from, format, dir_ / "made", {});
    const std::string name = fmt::format("iter_{:07}", iteration);
    fs::create_directories(dir_ / to);
    fs::rename(dir_ / "made/" + name, dir_ / to + "/" + name);
    fs::rename(dir_ / "made/latest_checkpointed_iteration.txt", tracker(to));
    fs::remove_all(dir_ / "made");
  }
  std::string tracker(const std::string& of) const { return dir_ / of + "/latest_checkpointed_iteration.txt"; }
  i64 opened(const std::string& name, const AnyOpenOptions& options = {}) {
    return open_any_checkpoint(dir_ / name, options).manifest.iteration;
  }

  TempDir dir_;
};

// A run that began with a Hugging Face model and saves beside it goes on from what it saved.
TEST_F(AnyCheckpoints, go_before_a_model_beside_them) {
  put("run", CkptFormat::native, 4);
  put("run", CkptFormat::native, 6);
  for (const char* name : {"config.json", "model.safetensors"})
    fs::copy_file(fixture("llama") + "/" + name, dir_ / "run/" + name);
  EXPECT_EQ(find_ckpt_format(dir_ / "run"), CkptFormat::native);
  EXPECT_EQ(opened("run"), 6);
  EXPECT_EQ(opened("run", {.iteration = 4}), 4);
  EXPECT_EQ(opened("run", {.format = CkptFormat::hf}), 0);
  fs::remove_all(dir_ / "run/iter_0000004"), fs::remove_all(dir_ / "run/iter_0000006"), fs::remove(tracker("run"));
  EXPECT_EQ(find_ckpt_format(dir_ / "run"), CkptFormat::hf);
}

TEST_F(AnyCheckpoints, of_megatron_need_no_tracker) {
  put("run", CkptFormat::torch_dist, 4);
  put("run", CkptFormat::torch_dist, 6);
  for (const char* names : {"", "garbage", "9"}) {
    spit(tracker("run"), names);
    EXPECT_EQ(find_ckpt_format(dir_ / "run"), CkptFormat::torch_dist) << names;
    testing::internal::CaptureStderr();
    EXPECT_EQ(opened("run"), 6) << names;
    EXPECT_NE(testing::internal::GetCapturedStderr().find("names no checkpoint that is there"), std::string::npos);
  }
  spit(tracker("run"), "4");
  EXPECT_EQ(opened("run"), 4);
  EXPECT_EQ(opened("run", {.iteration = 6}), 6);
}

// Going back past a whole checkpoint would write over it.
TEST_F(AnyCheckpoints, of_megatron_are_not_passed_over) {
  put("run", CkptFormat::native, 6);
  put("run", CkptFormat::torch_dist, 10);
  put("run", CkptFormat::native, 12);
  EXPECT_EQ(opened("run"), 12);
  fs::resize_file(dir_ / "run/iter_0000012/shard_00000.safetensors", 1000);
  const std::string message = error_of([&] { opened("run"); });
  EXPECT_NE(message.find("iter_0000012"), std::string::npos) << message;
  EXPECT_NE(message.find("give --ckpt-step 10"), std::string::npos) << message;
  EXPECT_EQ(opened("run", {.iteration = 10}), 10);
}

TEST_F(AnyCheckpoints, of_one_directory_have_one_iteration) {
  put("run", CkptFormat::native, 6);
  EXPECT_EQ(opened("run/iter_0000006/", {.iteration = 6}), 6);
  expect_error([&] { opened("run/iter_0000006", {.iteration = 4}); }, "is one checkpoint: --ckpt-step 4 wants");
}

// Else a run would go on from another's checkpoint.
TEST_F(AnyCheckpoints, are_not_put_among_others) {
  put("run", CkptFormat::native, 6);
  for (const CkptFormat to : {CkptFormat::native, CkptFormat::torch_dist})
    expect_error([&] { convert_checkpoint(open_any_checkpoint(fixture("llama")), to, dir_ / "run", {}); },
                 "iter_0000006 is there already: choose another directory");
  EXPECT_EQ(slurp(tracker("run")), "6");
}

}  // namespace
}  // namespace megalith
