// A test fixture with a separate folder for each test, like the folder of a run.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace megalith::report {

class Folder : public ::testing::Test {
 protected:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "megalith-report-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  ~Folder() override { std::filesystem::remove_all(dir_); }

  std::string operator/(const std::string& name) const { return dir_ + "/" + name; }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name, std::ios::binary) << text;
  }
  void put_more(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name, std::ios::binary | std::ios::app) << text;
  }
  const std::string& dir() const { return dir_; }

 private:
  std::string dir_;
};

}  // namespace megalith::report
