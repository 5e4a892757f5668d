#include "base/canonical_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace megalith {

namespace fs = std::filesystem;

TEST(CanonicalPath, is_the_same_for_all_spellings) {
  const fs::path dir = fs::canonical(fs::temp_directory_path()) / ("canonical_path_" + std::to_string(::getpid()));
  const std::string place = dir / "place";
  for (const bool is_there : {false, true}) {
    if (is_there) fs::create_directories(place), fs::create_symlink(place, dir / "link");
    for (const char* spelling : {"place", "place/", "place/.", "./place//", "other/../place/"})
      EXPECT_EQ(canonical_path(dir / spelling), place) << spelling;
  }
  EXPECT_EQ(canonical_path(dir / "link/"), place);
  EXPECT_EQ(canonical_path("/"), "/");
  EXPECT_EQ(canonical_path(""), "");
  fs::remove_all(dir);
}

TEST(CanonicalPath, lies_in_those_above_it) {
  for (const char* dir : {"/a/b", "/a/b/", "/a/./b/c/..", "/a", "/"}) EXPECT_TRUE(lies_in("/a/b", dir)) << dir;
  for (const char* dir : {"/a/b/c", "/a/bc", "/b"}) EXPECT_FALSE(lies_in("/a/b", dir)) << dir;
}

}  // namespace megalith
