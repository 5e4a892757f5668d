// Writing a file to disk: with O_DIRECT if allowed, by ordinary writes otherwise. Every error of the writing threads
// is reported to the owner. The test's pwrite and fallocate replace the library's, so that a test can refuse what a
// disk may refuse.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "ckpt/native/shards.h"
#include "ckpt/tensors/durable_file.h"
#include "ckpt/torch/torch_dist_save.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

// Called before each write, by several threads at the same time. Returns an errno, or 0 and possibly fewer bytes.
using Disk = std::function<int(int fd, std::size_t& bytes, i64 position)>;
Disk disk;
int no_room = 0;              // the errno of fallocate
std::atomic<i64> room_asked;  // its last size

bool is_direct(int fd) { return (::fcntl(fd, F_GETFL) & O_DIRECT) != 0; }

}  // namespace
}  // namespace megalith

extern "C" ssize_t pwrite(int fd, const void* bytes, std::size_t n, off_t position) {
  errno = megalith::disk ? megalith::disk(fd, n, position) : 0;
  return errno != 0 ? -1 : ::syscall(SYS_pwrite64, fd, bytes, n, position);
}
extern "C" int fallocate(int fd, int mode, off_t begin, off_t n) {
  megalith::room_asked = n;
  errno = megalith::no_room;
  return errno != 0 ? -1 : int(::syscall(SYS_fallocate, fd, mode, begin, n));
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
    disk = nullptr, no_room = 0;
    fs::remove_all(dir_);
  }
  // Writes them in chunks of odd sizes, and checks the content of the file.
  void expect_written(i64 size, i64 room = 0) {
    const std::string text = bytes_of(size);
    DurableFile file(path_, {}, room);
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
       {i64{0}, i64{1}, i64{4096}, kBuffer - 1, kBuffer, kBuffer + 1, 3 * kBuffer, 9 * kBuffer + 12345})
    for (const i64 room : {i64{0}, size / 2, size, size + 1, size + 5 * kBuffer}) expect_written(size, room);
}

TEST_F(Durable, GoesPastTheCacheBlockByBlock) {
  const int fd = ::open((dir_ + "/probe").c_str(), O_WRONLY | O_CREAT | O_DIRECT, 0600);
  if (fd < 0) GTEST_SKIP() << "no direct writes in " << dir_;
  ::close(fd);
  std::mutex mutex;
  std::map<i64, i64> writes;  // where -> bytes
  i64 direct = 0, cached = 0;
  disk = [&](int file, std::size_t& n, i64 at) {
    const std::lock_guard lock(mutex);
    writes[at] = i64(n);
    (is_direct(file) ? direct : cached) += i64(n);
    return 0;
  };
  expect_written(2 * kBuffer + 5 * 4096 + 77);
  EXPECT_EQ(direct, 2 * kBuffer + 5 * 4096);
  EXPECT_EQ(cached, 77);
  i64 end = 0;
  for (const auto& [at, n] : writes) {
    EXPECT_EQ(at, end);
    end += n;
  }
}

// A disk is fast only with several writes in progress. None of them may be in progress when the file is synced.
TEST_F(Durable, HasSeveralWritesAtOnceAndSyncsBehindThem) {
  std::mutex mutex;
  std::condition_variable all_there;
  int inside = 0, most = 0;
  disk = [&](int, std::size_t&, i64 at) {
    std::unique_lock lock(mutex);
    most = std::max(most, ++inside);
    all_there.notify_all();
    all_there.wait_for(lock, std::chrono::seconds(2), [&] { return most == DurableFile::kBuffers; });
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(at == (DurableFile::kBuffers - 1) * kBuffer ? 200 : 10));
    lock.lock();
    --inside;
    return 0;
  };
  int at_sync = -1;
  const std::string text = bytes_of(DurableFile::kBuffers * kBuffer);
  DurableFile file(path_, [&](const FileStep& s) {
    const std::lock_guard lock(mutex);
    if (s.kind == "fsync") at_sync = inside;
  });
  write(file, text);
  file.sync();
  EXPECT_EQ(most, DurableFile::kBuffers);
  EXPECT_EQ(at_sync, 0);
  EXPECT_TRUE(slurp(path_) == text);
}

TEST_F(Durable, SetsRoomAsideBeforeTheFirstWrite) {
  const i64 size = 3 * kBuffer + 5;
  std::mutex mutex;
  std::vector<std::string> kinds;
  const auto steps_of = [&](i64 room) {
    kinds.clear();
    DurableFile file(
        path_,
        [&](const FileStep& s) {
          const std::lock_guard lock(mutex);
          kinds.emplace_back(s.kind);
        },
        room);
    std::atomic<i64> least = size;
    disk = [&](int fd, std::size_t&, i64) {
      struct stat now {};
      ::fstat(fd, &now);
      if (now.st_size < least) least = now.st_size;
      return 0;
    };
    write(file, bytes_of(size));
    file.sync();
    disk = nullptr;
    return least.load();
  };
  EXPECT_EQ(steps_of(size), size);
  ASSERT_GE(kinds.size(), 4u);
  EXPECT_EQ(kinds[1], "allocate");
  EXPECT_EQ(kinds[2], "write");
  EXPECT_EQ(std::ranges::count(kinds, "truncate"), 0);
  EXPECT_EQ(steps_of(size + kBuffer), size);
  EXPECT_EQ(kinds[kinds.size() - 2], "truncate");
  EXPECT_EQ(kinds.back(), "fsync");
}

// Files of both formats are preallocated, except those without tensors.
TEST_F(Durable, HasRoomForTheTensorsOfACheckpoint) {
  const i64 bytes = 3 * kBuffer;
  const std::string text = bytes_of(bytes);
  const std::vector<SaveTensor> tensors = {{"a", {bytes / 4 - 10}, DType::f32, text.data()},
                                           {"b", {10}, DType::f32, text.data()}};
  room_asked = 0;
  ShardWriter({}, tensors, 0, {}).write(dir_);
  EXPECT_EQ(room_asked, bytes);
  room_asked = 0;
  DistcpWriter({}, tensors, 0, {}).write(dir_);
  EXPECT_EQ(room_asked, bytes);
}

TEST_F(Durable, GrowsWhereNoRoomCanBeSetAside) {
  for (const int error : {EOPNOTSUPP, ENOSYS, EINVAL}) {
    no_room = error;
    expect_written(5 * kBuffer + 5, 5 * kBuffer + 5);
  }
}

TEST_F(Durable, IsWrittenThroughTheCacheWhereDirectWritesAreRefused) {
  for (const i64 from : {i64{0}, kBuffer, 2 * kBuffer}) {
    disk = [&](int fd, std::size_t&, i64 at) { return is_direct(fd) && at >= from ? EINVAL : 0; };
    expect_written(3 * kBuffer + 4096 + 5);
  }
}

TEST_F(Durable, IsWrittenByADiskThatTakesLessAtOnce) {
  for (const std::size_t most : {std::size_t{1} << 20, std::size_t{1000001}}) {  // the last: in the middle of a block
    disk = [&](int, std::size_t& n, i64) {
      n = std::min(n, most);
      return 0;
    };
    expect_written(2 * kBuffer + 5);
  }
}

// Wherever it fails, write() or sync() reports it, with the path and the reason.
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
  disk = nullptr, no_room = ENOSPC;
  expect_error([&] { write(*std::make_unique<DurableFile>(path_, StepHook(), i64(text.size())), text); },
               fmt::format("[file] cannot write {}: {}", path_, std::strerror(ENOSPC)));
}

// A file that is abandoned during a write.
TEST_F(Durable, MayBeLeftUnfinished) {
  for (int i = 0; i < 20; ++i) {
    DurableFile file(path_);
    write(file, bytes_of(kBuffer + i));
  }
}

// An exception of the hook on a writing thread arrives here. It is not a std::exception, as in tests of power cuts.
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
  EXPECT_GE(writes, 2);
}

// A text that cannot be replaced stays, with no other file; only a crash leaves a partly written file.
TEST_F(Durable, ReplacesATextOrLeavesIt) {
  replace_text(path_, "old", {});
  disk = [](int, std::size_t&, i64) { return ENOSPC; };
  expect_error([&] { replace_text(path_, "new", {}); }, std::strerror(ENOSPC));
  disk = nullptr;
  EXPECT_EQ(names_in(dir_), std::set<std::string>{"file"});
  EXPECT_EQ(slurp(path_), "old");
  struct PowerCut {};
  const auto cut = [](const FileStep& s) {
    if (s.kind == "rename") throw PowerCut();
  };
  EXPECT_THROW(replace_text(path_, "new", cut), PowerCut);
  EXPECT_EQ(names_in(dir_).size(), 2u);
  EXPECT_EQ(slurp(path_), "old");
}

}  // namespace
}  // namespace megalith
