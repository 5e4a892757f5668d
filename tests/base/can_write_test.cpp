#include "base/can_write.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace megalith {

namespace fs = std::filesystem;

TEST(CanWrite, files_in_a_folder_that_exists) {
  const fs::path dir = fs::temp_directory_path() / ("can_write_" + std::to_string(::getpid()));
  fs::create_directories(dir);
  EXPECT_TRUE(can_write(dir / "new"));
  EXPECT_FALSE(fs::exists(dir / "new"));
  std::ofstream(dir / "old") << "kept";
  EXPECT_TRUE(can_write(dir / "old"));
  EXPECT_EQ(fs::file_size(dir / "old"), 4);
  EXPECT_TRUE(can_write("can_write_here"));
  EXPECT_FALSE(can_write(dir));
  EXPECT_FALSE(can_write(dir / "no" / "folder"));
  EXPECT_FALSE(can_write(dir / "old" / "file"));
  EXPECT_FALSE(can_write("/proc/self/file"));
  fs::remove_all(dir);
}

}  // namespace megalith
