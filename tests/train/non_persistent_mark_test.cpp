// Tests of the file that names the owner of a non-persistent checkpoint.
#include "resume/non_persistent_mark.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "small_run.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

TEST(NonPersistentMark, is_of_what_its_save_leads_to_today) {
  const TempFolder folder("mark");
  TrainConfig train;
  train.save = (folder.path / "save").string();
  fs::create_directory(train.save);
  Manifest copy{.state_json = "{}"};
  mark_non_persistent(copy, {"start", 3}, train.save);
  EXPECT_EQ(mark_of(copy, "/local/iter_0000001", train).rank, 3);
  fs::rename(train.save, folder.path / "moved");
  fs::create_directory_symlink(folder.path / "moved", train.save);
  EXPECT_EQ(mark_of(copy, "/local/iter_0000001", train).rank, 3);
  train.save = (folder.path / "moved").string();
  EXPECT_EQ(mark_of(copy, "/local/iter_0000001", train).rank, 3);
  train.save = (folder.path / "other").string();
  EXPECT_THROW(mark_of(copy, "/local/iter_0000001", train), NotOurNonPersistent);
}

}  // namespace
}  // namespace megalith
