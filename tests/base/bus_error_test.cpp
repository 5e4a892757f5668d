#include "base/bus_error.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"

namespace megalith {
namespace {

// Each dies in a process that is begun anew, as other tests have threads.
struct BusError : ::testing::Test {
  BusError() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(BusError, names_the_file_whose_bytes_are_gone) {
  // The process that dies comes by here too, with another id: it takes the same file, which is removed behind it.
  const std::string name = "bus_error_" + std::to_string(::getpid());
  ::setenv("BUS_ERROR_TEST_FILE", (std::filesystem::temp_directory_path() / name).c_str(), 0);
  const std::filesystem::path path = std::getenv("BUS_ERROR_TEST_FILE");
  std::ofstream(path) << std::string(100'000, 'x');
  const auto touch = [&] {
    tell_bus_errors();
    const MappedFile file(path.string());
    std::filesystem::resize_file(path, 10);
    volatile u8 byte = file.bytes()[90'000];
    (void)byte;
  };
  EXPECT_EXIT(touch(), ::testing::ExitedWithCode(1),
              "^megalith: cannot read /.*/bus_error_[0-9]+: an I/O error, or .*\n$");
  std::filesystem::remove(path);
}

TEST_F(BusError, elsewhere_is_fatal_as_ever) {
  const auto raise = [] {
    tell_bus_errors();
    std::raise(SIGBUS);
  };
  EXPECT_EXIT(raise(), ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace megalith
