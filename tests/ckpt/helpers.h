// Temporary directories, fixtures and small conveniences for the tests of src/ckpt.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/check.h"
#include "tests/error_of.h"
#include "tests/golden.h"

namespace megalith {

namespace fs = std::filesystem;

// An empty directory of this test, removed at the end; in memory if possible, because thousands of fsyncs are slow.
class TempDir {
 public:
  TempDir() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const fs::path memory = "/dev/shm";
    const bool in_memory = ::access(memory.c_str(), W_OK) == 0;
    path_ = ((in_memory ? memory : fs::temp_directory_path()) / ("megalith-" + std::string(test->test_suite_name()) +
                                                                 "-" + test->name() + "-" + std::to_string(::getpid())))
                .string();
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~TempDir() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void spit(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

inline std::set<std::string> names_in(const std::string& dir) {
  std::set<std::string> names;
  for (const auto& e : fs::directory_iterator(dir)) names.insert(e.path().filename().string());
  return names;
}

template <class F>
void expect_error(F&& f, const std::string& part) {
  const std::string message = error_of(f);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// A model of the tree's golden cases.
inline std::string fixture(const std::string& family) { return golden(family); }

// Directories of all families' models: the tree's, and those of ../shared if it exists.
inline std::vector<std::string> all_fixtures() {
  std::vector<std::string> all;
  for (const char* family : kGoldenModels)
    for (const std::string& dir : golden_models(family)) all.push_back(dir);
  return all;
}

}  // namespace megalith
