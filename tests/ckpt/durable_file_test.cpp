// A file's way to the disk: past the page cache where that is allowed, by ordinary writes where it is not, and with
// every error of the thread that writes told to its owner. This program's pwrite stands before the library's, so that a
// test can refuse what a disk may refuse.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <numeric>

#include "ckpt/files.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

// Called before each write: gives an errno, or 0 and perhaps fewer bytes.
using Disk = std::function<int(int fd, std::size_t& bytes, i64 position)>;
Disk disk;

bool is_direct(int fd) { return (::fcntl(fd, F_GETFL) & O_DIRECT) != 0; }

}  // namespace
}  // namespace megalith

extern "C" ssize_t pwrite(int fd, const void* bytes, std::size_t n, off_t position) {
  errno = megalith::disk ? megalith::disk(fd, n, position) : 0;
  return errno != 0 ? -1 : ::syscall(SYS_pwrite64, fd, bytes, n, position);
}

namespace megalith {
namespace {

constexpr i64 kBuffer = DurableFile::kBufferBytes;

std::string bytes_of(i64 n) {
  std::string text(std::size_t(n), '\0');
  u32 random = 7;
  for (char& c : text) c = char((random = random * 1664525 + 1013904223) >> 24);
  return text;
}

class Durable : public ::testing::Test {
 protected:
  Durable() { fs::create_directories(dir_); }
  ~Durable() override {
    disk = nullptr;
    fs::remove_all(dir_);
  }
  // Writes them in pieces of odd sizes, and checks what is then in the file.
  void expect_written(i64 size) {
    const std::string text = bytes_of(size);
    DurableFile file(path_);
    write(file, text);
    file.sync();
    EXPECT_EQ(file.size(), size);
    EXPECT_EQ(file.checksum(), xxh64(text));
    EXPECT_TRUE(slurp(path_) == text) << size << " bytes";
  }
  static void write(DurableFile& file, std::string_view text) {
    for (std::size_t piece = 1; !text.empty(); piece = piece * 3 + 1) {
      file.write(std::as_bytes(std::span(text.substr(0, piece))));
      text.remove_prefix(std::min(piece, text.size()));
    }
  }

  const std::string dir_ = (fs::temp_directory_path() / fmt::format("megalith-durable-{}", ::getpid())).string();
  const std::string path_ = dir_ + "/file";  // on a disk, if temporary files are on one
};

TEST_F(Durable, HoldsWhatWasWritten) {
  for (const i64 size :
       {i64{0}, i64{1}, i64{4096}, kBuffer - 1, kBuffer, kBuffer + 1, 3 * kBuffer, 5 * kBuffer + 12345})
    expect_written(size);
}

TEST_F(Durable, GoesPastTheCacheBlockByBlock) {
  const int fd = ::open((dir_ + "/probe").c_str(), O_WRONLY | O_CREAT | O_DIRECT, 0600);
  if (fd < 0) GTEST_SKIP() << "no direct writes in " << dir_;
  ::close(fd);
  i64 direct = 0, cached = 0;
  disk = [&](int file, std::size_t& n, i64 at) {
    EXPECT_EQ(at, direct + cached);
    (is_direct(file) ? direct : cached) += i64(n);
    return 0;
  };
  expect_written(2 * kBuffer + 5 * 4096 + 77);
  EXPECT_EQ(direct, 2 * kBuffer + 5 * 4096);
  EXPECT_EQ(cached, 77);
}

TEST_F(Durable, IsWrittenThroughTheCacheWhereDirectWritesAreRefused) {
  for (const i64 from : {i64{0}, kBuffer, 2 * kBuffer}) {
    disk = [&](int fd, std::size_t&, i64 at) { return is_direct(fd) && at >= from ? EINVAL : 0; };
    expect_written(3 * kBuffer + 4096 + 5);
  }
}

TEST_F(Durable, IsWrittenByADiskThatTakesLessAtOnce) {
  for (const std::size_t most : {std::size_t{1} << 20, std::size_t{1000001}}) {  // the latter in the middle of a block
    disk = [&](int, std::size_t& n, i64) {
      n = std::min(n, most);
      return 0;
    };
    expect_written(2 * kBuffer + 5);
  }
}

// Wherever it fails, write() or sync() says so, with the path and the reason.
TEST_F(Durable, TellsEveryError) {
  const std::string text = bytes_of(3 * kBuffer + 5);
  for (const int error : {ENOSPC, EIO})
    for (const i64 bad : {i64{0}, kBuffer, 2 * kBuffer, 3 * kBuffer}) {
      disk = [&](int, std::size_t&, i64 at) { return at == bad ? error : 0; };
      expect_error(
          [&] {
            DurableFile file(path_);
            write(file, text);
            file.sync();
          },
          fmt::format("[file] cannot write {}: {}", path_, std::strerror(error)));
    }
}

// One that is given up while it is being written.
TEST_F(Durable, MayBeLeftUnfinished) {
  for (int i = 0; i < 20; ++i) {
    DurableFile file(path_);
    write(file, bytes_of(kBuffer + i));
  }
}

// What the hook throws on the thread that writes arrives here: no std::exception, as in tests of power cuts.
TEST_F(Durable, CarriesWhatTheHookThrows) {
  struct PowerCut {};
  std::atomic<int> writes = 0;
  const auto cut = [&](const FileStep& s) {
    if (s.kind == "write" && ++writes == 2) throw PowerCut();
  };
  const auto save = [&] {
    DurableFile file(path_, cut);
    write(file, bytes_of(3 * kBuffer));
    file.sync();
  };
  EXPECT_THROW(save(), PowerCut);
  EXPECT_EQ(writes, 2);
}

}  // namespace
}  // namespace megalith
