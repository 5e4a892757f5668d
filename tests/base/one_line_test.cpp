#include "base/one_line.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <new>

#include "base/check.h"

namespace megalith {
namespace {

template <class F>
std::string line_of(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return one_line(error);
  }
  return "nothing was thrown";
}

TEST(OneLine, of_ours_is_what_it_says) {
  EXPECT_EQ(line_of([] { fail("seven is {}", 8); }), "seven is 8");
  EXPECT_EQ(line_of([] { fail("of two\nlines"); }), "of two\\nlines");
}

TEST(OneLine, of_files_says_which_and_why) {
  const std::string file = testing::TempDir() + "one\nline";
  std::ofstream(file) << "a file";
  const std::string shown = testing::TempDir() + "one\\nline";
  EXPECT_EQ(line_of([&] { (void)std::filesystem::directory_iterator(file); }),
            shown + ": Not a directory; check the path and its permissions");
  EXPECT_EQ(line_of([&] { std::filesystem::rename(file, file + "/below"); }),
            shown + " to " + shown + "/below: Not a directory; check the path and its permissions");
  std::filesystem::remove(file);
}

TEST(OneLine, of_memory_says_whose) {
  EXPECT_EQ(line_of([] { throw std::bad_alloc(); }), "the host's memory ran out; free some, or make the run smaller");
}

}  // namespace
}  // namespace megalith
