// A test fixture with a separate folder for each test.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace megalith::test {

class LaunchFolder : public ::testing::Test {
 protected:
  LaunchFolder() { std::filesystem::create_directories(dir_); }
  ~LaunchFolder() override {
    std::error_code error;
    std::filesystem::remove_all(dir_, error);
  }
  std::string operator/(const std::string& name) const { return dir_ + "/" + name; }
  const std::string& dir() const { return dir_; }

 private:
  const std::string dir_ =
      (std::filesystem::temp_directory_path() / ("megalith-launch-test-" + std::to_string(getpid()) + "-" +
                                                 ::testing::UnitTest::GetInstance()->current_test_info()->name()))
          .string();
};

}  // namespace megalith::test
