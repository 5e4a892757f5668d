// Selects an iteration of a --save directory, and the next one to try.
#include "ckpt/native/save_directory.h"

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

std::string names_of(const SaveDirectory& save) {
  std::string names;
  for (const FoundCheckpoint& c : save.candidates)
    names += (names.empty() ? "" : " ") + fs::path(c.path).filename().string();
  return names;
}

class SaveDirectories : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"iter_0000010", "iter_0000020", "iter_0000020.replaced-7", "iter_0000030", "iter_0000040.tmp-7", "release"})
      fs::create_directory(dir_ / name);
  }
  std::string order(const std::string& tracker, const WhichIteration& which = {}) {
    spit(dir_ / kLatestFile, tracker);
    save_ = read_save_directory(dir_.path(), which);
    return names_of(save_);
  }
  TempDir dir_;
  SaveDirectory save_;
};

TEST_F(SaveDirectories, name_the_order_in_which_iterations_are_tried) {
  EXPECT_EQ(order("30\n"), "iter_0000030 iter_0000020 iter_0000020.replaced-7 iter_0000010");
  EXPECT_EQ(order("20"), "iter_0000020 iter_0000020.replaced-7 iter_0000010 iter_0000030");
  EXPECT_EQ(order(" \t20\r\n"), order("20"));  // as in Megatron
  EXPECT_EQ(order(" release\n"), "release iter_0000030 iter_0000020 iter_0000020.replaced-7 iter_0000010");
  EXPECT_EQ(save_.tracker_problem, "");
  EXPECT_EQ(save_.first().path, dir_ / "release");
  for (const char* tracker : {"", "x", "-1", "15", "30 40"}) {
    EXPECT_EQ(order(tracker), "iter_0000030 iter_0000020 iter_0000020.replaced-7 iter_0000010") << tracker;
    EXPECT_EQ(save_.tracker_problem, fmt::format("{} {}names a checkpoint that does not exist", dir_ / kLatestFile,
                                                 *tracker == 0 ? "" : fmt::format("holds \"{}\", which ", tracker)));
  }
  order(" a\n\x1b" + std::string(1000, 'b'));
  EXPECT_EQ(save_.tracker_problem, dir_ / kLatestFile + " holds \"a\\n\\x1b" + std::string(37, 'b') +
                                       "\", which names a checkpoint that does not exist");
  fs::remove(dir_ / kLatestFile), fs::create_directory(dir_ / kLatestFile);  // unreadable, like a bad sector
  EXPECT_EQ(read_save_directory(dir_.path()).first().iteration, 30);
}

// The tracker may name a damaged one: that is not an error of the tracker.
TEST_F(SaveDirectories, leave_out_later_ones) {
  EXPECT_EQ(order("30", {.no_later_than = 29}), "iter_0000020 iter_0000020.replaced-7 iter_0000010");
  EXPECT_EQ(save_.tracker_problem, "");
  EXPECT_EQ(order("30", {.no_later_than = 9}), "");
  expect_error([&] { save_.first(); }, "holds no older checkpoint");
}

TEST_F(SaveDirectories, hold_the_one_that_is_asked_for_or_tell_what_is_there) {
  EXPECT_EQ(order("30", {.exactly = 20}), "iter_0000020");
  fs::rename(dir_ / "iter_0000020", dir_ / "iter_0000020.tmp-7");  // a crash during a replacement
  EXPECT_EQ(order("30", {.exactly = 20}), "iter_0000020.replaced-7");
  EXPECT_EQ(order("30", {.exactly = 15}), "");
  expect_error([&] { save_.first(); }, "holds iterations [10, 20, 30], not 15");
  expect_error([&] { read_save_directory(dir_ / "nothing").first(); }, "nothing holds no checkpoint");
}

}  // namespace
}  // namespace megalith
