// Parts of a file, read where they are wanted.
#include "base/read_file.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/check.h"

namespace megalith {
namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST(ReadFile, ReadsAnyPartAndRefusesWhatIsNotThere) {
  const auto path = std::filesystem::temp_directory_path() / ("read_file_" + std::to_string(::getpid()));
  std::ofstream(path) << "0123456789";
  const ReadFile file(path.string());
  EXPECT_EQ(file.size(), 10);
  std::string out(4, ' ');
  const auto there = std::as_writable_bytes(std::span(out));
  file.read(6, there);
  EXPECT_EQ(out, "6789");
  file.read(0, there);
  EXPECT_EQ(out, "0123");
  file.read(10, there.first(0));
  EXPECT_EQ(error_of([&] { file.read(8, there); }),
            path.string() + " ends at byte 10, 2 more were expected: it is truncated");
  std::filesystem::resize_file(path, 2);
  EXPECT_NE(error_of([&] { file.read(0, there); }).find(" ends at byte 2, 2 more"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { ReadFile{path.string()}; }),
            "cannot open " + path.string() + ": No such file or directory: check the path");
  EXPECT_EQ(error_of([] { ReadFile{"/tmp"}; }), "cannot read /tmp: it is not a regular file");
}

}  // namespace megalith
