// Parts of a file, read where they are wanted.
#include "base/read_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <optional>

#include "base/check.h"
#include "base/mapped_file.h"
#include "tests/error_of.h"

namespace megalith {
namespace {

std::string name_for(const char* what) {
  return (std::filesystem::temp_directory_path() / (what + std::to_string(::getpid()))).string();
}

// Whether the page cache holds the file's first bytes; none where the file system takes no direct reads.
std::optional<bool> is_cached(const std::string& path) {
  const int direct = ::open(path.c_str(), O_RDONLY | O_DIRECT);
  if (direct < 0) return std::nullopt;
  ::close(direct);
  const int file = ::open(path.c_str(), O_RDONLY);
  void* page = ::mmap(nullptr, BlockPool::kBlock, PROT_READ, MAP_SHARED, file, 0);
  unsigned char there = 0;
  ::mincore(page, BlockPool::kBlock, &there);
  ::munmap(page, BlockPool::kBlock);
  ::close(file);
  return (there & 1) != 0;
}

void forget(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  ::fsync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

}  // namespace

TEST(ReadFile, ReadsAnyPartAndRefusesWhatIsNotThere) {
  const std::string path = name_for("read_file_");
  std::ofstream(path) << "0123456789";
  const ReadFile file(path);
  EXPECT_EQ(file.size(), 10);
  std::string out(4, ' ');
  const auto there = std::as_writable_bytes(std::span(out));
  file.read(6, there);
  EXPECT_EQ(out, "6789");
  file.read(0, there);
  EXPECT_EQ(out, "0123");
  file.read(10, there.first(0));
  EXPECT_EQ(error_of([&] { file.read(8, there); }),
            path + " ends at byte 10, bytes 10 to 12 were expected: it is truncated");
  std::filesystem::resize_file(path, 2);
  EXPECT_NE(error_of([&] { file.read(0, there); }).find(" ends at byte 2, bytes 2 to 4"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { ReadFile{path}; }), "cannot open " + path + ": No such file or directory: check the path");
  EXPECT_EQ(error_of([] { ReadFile{"/tmp"}; }), "cannot read /tmp: it is not a regular file");
}

// A pipe that nobody writes to would keep whom opens it waiting.
TEST(ReadFile, RefusesPipesAndSocketsAtOnce) {
  const std::string pipe = name_for("read_file_pipe_"), socket = name_for("read_file_socket_");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { ReadFile{pipe}; }), "cannot read " + pipe + ": it is not a regular file");
  EXPECT_EQ(error_of([&] { MappedFile{pipe}; }), "cannot read " + pipe + ": it is not a regular file");
  ASSERT_EQ(::mknod(socket.c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_EQ(error_of([&] { ReadFile{socket}; }),
            "cannot open " + socket + ": No such device or address: check the path");
  for (const std::string& path : {pipe, socket}) std::filesystem::remove(path);
}

// Reads past the page cache give the same bytes as reads through it. That holds for short reads too.
TEST(ReadFile, ReadsPastThePageCache) {
  const std::string path = name_for("read_file_past_cache_");
  std::string text(100'003, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = char(i * 7919 >> 5);
  std::ofstream(path) << text;
  forget(path);
  const bool forgotten = is_cached(path) == false;  // a file system in memory never does
  BlockPool blocks(3 * BlockPool::kBlock);
  {
    const ReadFile file(path, &blocks);
    EXPECT_EQ(file.size(), i64(text.size()));
    for (const auto& [begin, n] :
         {std::pair(0, 100'003), {0, 1}, {4095, 2}, {4096, 4096}, {8191, 40'000}, {100'002, 1}}) {
      std::string out(std::size_t(n), ' ');
      file.read(begin, std::as_writable_bytes(std::span(out)));
      EXPECT_EQ(out, text.substr(std::size_t(begin), std::size_t(n))) << n << " at " << begin;
    }
    std::string out(10, ' ');
    EXPECT_EQ(error_of([&] { file.read(99'999, std::as_writable_bytes(std::span(out))); }),
              path + " ends at byte 100003, bytes 100003 to 100009 were expected: it is truncated");
    EXPECT_EQ(error_of([&] { file.read(500'000, std::as_writable_bytes(std::span(out))); }).find(path + " ends at"),
              0u);
  }
  if (forgotten) {
    EXPECT_EQ(is_cached(path), false);
    std::string out(10, ' ');
    ReadFile(path).read(0, std::as_writable_bytes(std::span(out)));
    EXPECT_EQ(is_cached(path), true);
  }
  std::filesystem::remove(path);
}

TEST(BlockPool, KeepsWhatComesBack) {
  BlockPool pool(BlockPool::kBlock);
  const std::byte* first = pool.lend().get();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % BlockPool::kBlock, 0u);
  const BlockPool::Loan again = pool.lend(), other = pool.lend();
  EXPECT_EQ(again.get(), first);
  EXPECT_NE(other.get(), first);
  EXPECT_THROW(BlockPool(i64{1} << 60).lend(), std::bad_alloc);  // and not an Error, which would blame the file
}

}  // namespace megalith
