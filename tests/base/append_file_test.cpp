#include "base/append_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

namespace megalith {

static std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream s;
  s << in.rdbuf();
  return s.str();
}

// Files cannot grow beyond so many bytes while it lives: a disk that is full.
struct FullDisk {
  rlimit before{};
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit tight{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before), std::signal(SIGXFSZ, SIG_DFL); }
};

struct AppendFileTest : testing::Test {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("megalith_append_" + std::to_string(getpid()));
  std::filesystem::path path = folder / "sub" / "file";
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(AppendFileTest, makes_folders_and_appends) {
  { EXPECT_TRUE(AppendFile(path, "test file").append("one\n")); }
  { EXPECT_TRUE(AppendFile(path, "test file").append("two\n")); }
  EXPECT_EQ(read_all(path), "one\ntwo\n");
}

TEST_F(AppendFileTest, full_disk_loses_whole_records_and_warns_once) {
  AppendFile file(path, "test file");
  const std::string first(5000, 'a'), lost(2000, 'b'),
      fits(500, 'c');  // the captured stderr is a file too, far below the limit
  EXPECT_TRUE(file.append(first));
  testing::internal::CaptureStderr();
  {
    const FullDisk full(6000);
    EXPECT_FALSE(file.append(lost));
    EXPECT_EQ(read_all(path), first);
    EXPECT_FALSE(file.append(lost));
    EXPECT_TRUE(file.append(fits));
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "warning: test file " + path.string() + ": File too large: records are lost; the run continues\n");
  EXPECT_TRUE(file.append("end"));
  EXPECT_EQ(read_all(path), first + fits + "end");
}

TEST_F(AppendFileTest, a_removed_file_is_made_again) {
  AppendFile file(path, "test file");
  EXPECT_TRUE(file.append("one\n"));
  EXPECT_FALSE(file.is_removed());
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(file.is_removed());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(file.append("two\n"));
  EXPECT_TRUE(file.append("three\n"));
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "warning: test file " + path.string() + ": it was removed: later records go to a new one; the run continues\n");
  EXPECT_EQ(read_all(path), "two\nthree\n");
}

// Its folder is replaced by a file, then that is removed too.
TEST_F(AppendFileTest, a_file_that_cannot_be_made_again_is_tried_again) {
  AppendFile file(path, "test file");
  std::filesystem::remove_all(path.parent_path());
  std::ofstream(path.parent_path()) << "x";
  testing::internal::CaptureStderr();
  EXPECT_FALSE(file.append("one\n"));
  EXPECT_FALSE(file.append("two\n"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_NE(said.find("records are lost; the run continues"), std::string::npos) << said;
  std::filesystem::remove(path.parent_path());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(file.append("three\n"));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(read_all(path), "three\n");
}

TEST_F(AppendFileTest, says_why_it_cannot_open) {
  std::filesystem::create_directories(path);
  try {
    AppendFile file(path, "test file");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "test file " + path.string() + ": cannot open it for writing (Is a directory): choose another place");
  }
}

}  // namespace megalith
