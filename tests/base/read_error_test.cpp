// What a failed read says of: the file, or this process and system.
#include "base/read_error.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/process_memory.h"
#include "base/read_file.h"

namespace megalith {
namespace {

// "damaged: ...", "unreachable: ...", or "" if f throws nothing.
std::string kind_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const DamagedFile& e) {
    return std::string("damaged: ") + e.what();
  } catch (const UnreachableFile& e) {
    return std::string("unreachable: ") + e.what();
  }
  return "";
}

std::string kind_of(int error) {
  return kind_of([&] { throw_read_error("open", "x", error); });
}

}  // namespace

TEST(ReadError, TellsDamageFromWhatStandsInTheWay) {
  EXPECT_EQ(kind_of(ENOENT), "damaged: cannot open x: No such file or directory: check the path");
  EXPECT_EQ(kind_of(EIO), "damaged: cannot open x: Input/output error: check the disk");
  for (const int error : {ENOTDIR, EISDIR, ENODATA, EUCLEAN, EBADMSG})
    EXPECT_TRUE(kind_of(error).starts_with("damaged"));
  EXPECT_EQ(kind_of(EACCES), "unreachable: cannot open x: Permission denied: give this user the right to read it");
  for (const int error : {EMFILE, ENFILE, EPERM, ENOMEM, ESTALE, ENOTCONN, ETIMEDOUT, EINVAL})
    EXPECT_TRUE(kind_of(error).starts_with("unreachable")) << error;
}

// The kernel's own errors: this process's memory has nothing at its begin.
TEST(ReadError, OfADiskThatFails) {
  const ReadFile memory("/proc/self/mem");
  std::byte out[8];
  EXPECT_EQ(kind_of([&] { memory.read(0, out); }),
            "damaged: cannot read /proc/self/mem: Input/output error: check the disk");
}

TEST(ReadError, OfAProcessWithTooManyOpenFiles) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("read_error_" + std::to_string(::getpid()))).string();
  std::ofstream(path) << "text";
  EXPECT_TRUE(file_exists(path));
  EXPECT_FALSE(file_exists(path + "/in_a_file"));
  EXPECT_FALSE(file_exists(std::string(5000, 'x')));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string kind = kind_of([&] { const ReadFile file(path); });
  const std::string memory = kind_of([] { (void)resident_bytes(); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string why = ": Too many open files: allow this process more open files (ulimit -n)";
  EXPECT_EQ(kind, "unreachable: cannot open " + path + why);
  EXPECT_EQ(memory, "unreachable: cannot open /proc/self/status" + why);
  std::filesystem::remove(path);
  EXPECT_FALSE(file_exists(path));
}

}  // namespace megalith
