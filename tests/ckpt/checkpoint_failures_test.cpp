// Power cuts, full disks, damage: the old checkpoint or the new one exists, and a line says which.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <map>

#include "base/read_error.h"
#include "ckpt/native/checkpoint_layout.h"
#include "tests/ckpt/small_state.h"

namespace megalith {
namespace {

// Thrown by a hook to simulate a power cut: not a std::exception, so nothing cleans up after it.
struct Crash {};

// Losses in a power cut: bytes without fsync, and names in a directory without fsync.
class UnsafeDisk {
 public:
  void see(const FileStep& s) {
    if (s.kind == "create" || s.kind == "write") bytes_.insert(s.path);
    if (s.kind == "create" || s.kind == "mkdir") names_.insert(s.path);
    if (s.kind == "fsync") bytes_.erase(s.path);
    if (s.kind == "fsync-dir")
      std::erase_if(names_, [&](const std::string& n) { return fs::path(n).parent_path() == s.path; });
    if (s.kind == "rename" || s.kind == "exchange") move(bytes_, s), move(names_, s);
  }
  // Keeps this many unsynced bytes; with 0 also loses unsynced names.
  void cut_power(int keep_percent) const {
    for (const std::string& path : bytes_)
      if (fs::exists(path)) fs::resize_file(path, fs::file_size(path) * std::uintmax_t(keep_percent) / 100);
    for (const std::string& path : names_)
      if (keep_percent == 0) fs::remove_all(path);
  }

 private:
  static void move(std::set<std::string>& paths, const FileStep& s) {
    std::set<std::string> moved;
    for (const std::string& p : paths) {
      const bool inside = p == s.path || p.starts_with(s.path + "/");
      moved.insert(inside ? s.target + p.substr(s.path.size()) : p);
    }
    paths = moved;
  }
  std::set<std::string> bytes_, names_;
};

// Stops a save before each of its steps, like a power cut.
void crash_everywhere(i64 old_iteration, i64 new_iteration, bool exchange) {
  const State old_state(old_iteration, 1), new_state(new_iteration, 2), next(new_iteration + 1, 3);
  for (int k = 0, finished = 0; finished == 0; ++k) {
    for (const int keep_percent : {0, 50, 100}) {
      TempDir dir;
      old_state.save(dir.path());
      UnsafeDisk disk;
      int step = 0;
      SaveOptions options{.keep_last = 1, .exchange = exchange};
      options.hook = [&](const FileStep& s) {
        if (step++ == k) throw Crash();
        disk.see(s);
      };
      bool done = false;
      try {
        new_state.save(dir.path(), options);
        done = true;
      } catch (const Crash&) {
      }
      disk.cut_power(keep_percent);
      {
        const Checkpoint c = open_checkpoint(dir.path());
        const bool is_old = c.manifest().state_json.find(":0.1") != std::string::npos;
        EXPECT_FALSE(done && is_old);
        expect_holds(c, is_old ? old_state : new_state);
        finished += done;
      }
      // The next save overwrites whatever the crash left, and nothing of it remains.
      next.save(dir.path(), {.keep_last = 1});
      expect_holds(open_checkpoint(dir.path()), next);
      EXPECT_EQ(names_in(dir.path()).size(), 2u) << "step " << k;
    }
    ASSERT_LT(k, 200);
  }
}

TEST(Checkpoint, a_crash_anywhere_leaves_the_old_or_the_new) { crash_everywhere(10, 20, true); }
TEST(Checkpoint, a_crash_anywhere_while_replacing_leaves_the_old_or_the_new) { crash_everywhere(10, 10, true); }
TEST(Checkpoint, a_crash_anywhere_leaves_one_where_directories_cannot_be_swapped) { crash_everywhere(10, 10, false); }

// A power cut between the two renames of a replacement, on file systems that cannot swap directories.
TEST(Checkpoint, that_was_moved_aside_gets_its_empty_place_back) {
  TempDir dir;
  const State old_state(10, 1), new_state(20, 2);
  old_state.save(dir.path());
  fs::rename(dir / "iter_0000010", dir / "iter_0000010.replaced-999999998");
  fs::create_directories(dir / "iter_0000010.replaced-999999997");  // an earlier checkpoint of the same path
  fs::last_write_time(dir / "iter_0000010.replaced-999999997",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  new_state.save(dir.path());
  EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{"iter_0000010", "iter_0000020", kLatestFile}));
  expect_holds(open_checkpoint(dir.path(), {.iteration = 10}), old_state);
}

TEST(Checkpoint, that_is_half_deleted_is_none) {
  TempDir dir;
  State(10).save(dir.path());
  const std::string half = dir / "iter_0000010.replaced-999999998.tmp-999999999";
  fs::rename(dir / "iter_0000010", half);
  EXPECT_TRUE(list_checkpoints(dir.path()).empty());
  State(20).save(dir.path());
  EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{"iter_0000020", kLatestFile}));
}

TEST(Checkpoint, a_failing_step_is_an_error_and_leaves_nothing) {
  const State old_state(10), new_state(20);
  for (int k = 0;; ++k) {
    TempDir dir;
    old_state.save(dir.path());
    int step = 0;
    SaveOptions options{.keep_last = 1};
    options.hook = [&](const FileStep&) {
      if (step++ == k) fail("[file] no space left");
    };
    bool failed = false;
    try {
      new_state.save(dir.path(), options);
    } catch (const Error& e) {
      failed = true;
      const std::string said = e.what();
      EXPECT_NE(said.find("iter_0000020 was not written: "), std::string::npos) << said;
      EXPECT_NE(said.find("[file] no space left"), std::string::npos) << said;
    }
    const auto names = names_in(dir.path());
    for (const std::string& name : names) {
      EXPECT_FALSE(failed && name.starts_with("iter_") && name.find(".tmp-") != std::string::npos)
          << name << " after step " << k;
    }
    const Checkpoint c = open_checkpoint(dir.path());
    expect_holds(c, c.manifest().iteration == 10 ? old_state : new_state);
    EXPECT_TRUE(failed || c.manifest().iteration == 20);
    if (step <= k) break;
    ASSERT_LT(k, 200);
  }
}

TEST(Checkpoint, a_full_disk_leaves_the_old_one) {
  TempDir dir;
  const State old_state(10);
  old_state.save(dir.path());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t limit : {0, 1, 100, 600, 1000}) {
    const rlimit small{limit, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message = error_of([&] { State(20).save(dir.path()); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_NE(message.find("File too large"), std::string::npos) << message;
    EXPECT_EQ(names_in(dir.path()).size(), 2u);
    expect_holds(open_checkpoint(dir.path()), old_state);
  }
  ::signal(SIGXFSZ, handler);
}

TEST(Checkpoint, every_bit_flip_is_found_and_the_previous_one_used) {
  TempDir dir;
  const State old_state(10), new_state(20);
  old_state.save(dir.path());
  new_state.save(dir.path());
  testing::internal::CaptureStderr();
  for (const char* name : {"manifest.json", "checksums.txt", "shard_00000.safetensors"}) {
    const std::string path = dir / "iter_0000020/" + name, whole = slurp(path);
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += 3) {
      std::string flipped = whole;
      flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << (bit % 8)));
      spit(path, flipped);
      const std::string message = error_of([&] { (void)open_checkpoint(dir.path(), {.iteration = 20}); });
      ASSERT_NE(message.find("iter_0000020"), std::string::npos) << message;
      if (bit % 50 == 0) expect_holds(open_checkpoint(dir.path()), old_state);
    }
    for (std::size_t n = 0; n < whole.size(); n += 7) {
      spit(path, whole.substr(0, n));
      expect_error([&] { (void)open_checkpoint(dir.path(), {.iteration = 20}); }, "iter_0000020");
    }
    fs::remove(path);
    expect_holds(open_checkpoint(dir.path()), old_state);
    spit(path, whole);
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("iter_0000010 instead"), std::string::npos);
  expect_holds(open_checkpoint(dir.path()), new_state);
}

TEST(Checkpoint, a_file_that_is_cut_short_while_it_is_read_is_damage) {
  for (const bool past_cache : {false, true}) {
    TempDir dir;
    State(10).save(dir.path());
    const Checkpoint c = open_checkpoint(dir.path(), {.verify = false, .past_cache = past_cache});
    const std::string path = dir / "iter_0000010/shard_00000.safetensors";
    fs::resize_file(path, fs::file_size(path) / 2);
    std::vector<std::byte> out(48);
    try {
      c.read_block("w", {0, 0}, {3, 4}, out);
      c.read_block("optimizer.exp_avg.w", {0, 0}, {3, 4}, out);
      ADD_FAILURE() << "half of the file is gone";
    } catch (const DamagedCheckpoint& e) {
      EXPECT_NE(std::string(e.what()).find(path + " ends at byte "), std::string::npos) << e.what();
    }
  }
}

// A thousand ranks have thousands of files.
TEST(Checkpoint, holds_one_file_open_for_each_shard) {
  TempDir dir;
  State(10).save(dir.path());
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  const Checkpoint c = open_checkpoint(dir.path());
  EXPECT_EQ(open_files() - before, 2);  // the mark of a reader, and the shard
}

// With any limit of open files: the newest checkpoint is loaded, or an error names the limit.
TEST(Checkpoint, too_many_open_files_are_no_reason_to_go_back) {
  TempDir dir;
  const State old_state(10), new_state(20);
  old_state.save(dir.path());
  new_state.save(dir.path());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(STDIN_FILENO);  // the descriptor of the next file
  ::close(next);
  int refused = 0;
  for (rlim_t more = 0; more < 20; ++more) {
    const rlimit few{rlim_t(next) + more, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::string said;
    i64 opened = -1;
    try {
      opened = open_checkpoint(dir.path()).manifest().iteration;
    } catch (const UnreachableFile& e) {
      said = e.what();
    } catch (const Error&) {  // "no complete checkpoint", or "none"
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    refused += opened < 0;
    if (opened < 0)
      EXPECT_NE(said.find("Too many open files: allow this process more open files"), std::string::npos) << said;
    else
      EXPECT_EQ(opened, 20);
  }
  EXPECT_GE(refused, 2);  // the directory, and the manifest next to the reader's mark
  EXPECT_LT(refused, 20);
}

TEST(Checkpoint, names_the_damaged_tensor) {
  TempDir dir;
  State(10).save(dir.path());
  const std::string path = dir / "iter_0000010/shard_00000.safetensors";
  const TensorInfo t = TensorFiles::open_file(path).at("optimizer.exp_avg.w");
  std::string flipped = slurp(path);
  flipped[std::size_t(t.offset) + 5] ^= 1;
  spit(path, flipped);
  expect_error([&] { (void)open_checkpoint(dir.path()); }, "has no complete checkpoint");
  expect_error([&] { (void)open_checkpoint(dir.path()); }, "tensor optimizer.exp_avg.w");
}

TEST(Checkpoint, falls_back_to_the_newest_whole_one) {
  TempDir dir;
  for (const i64 i : {10, 20, 30}) State(i).save(dir.path());
  for (const char* text : {"", "x", "40", "-1", "20\n"}) {
    spit(dir / "latest_checkpointed_iteration.txt", text);
    testing::internal::CaptureStderr();
    expect_holds(open_checkpoint(dir.path()), State(std::string(text) == "20\n" ? 20 : 30));
    EXPECT_NE(testing::internal::GetCapturedStderr().find("warning"), std::string::npos);
  }
  fs::remove(dir / "latest_checkpointed_iteration.txt");
  expect_holds(open_checkpoint(dir.path()), State(30));
}

TEST(Checkpoint, a_newer_format_is_no_reason_to_go_back) {
  TempDir dir;
  State(10).save(dir.path());
  State(20).save(dir.path());
  const std::string path = dir / "iter_0000020/manifest.json";
  std::string text = slurp(path), sums = slurp(dir / "iter_0000020/checksums.txt");
  text.replace(text.find("\"format_version\": 2"), 19, "\"format_version\": 3");
  const auto at = sums.find("  manifest.json");
  sums.replace(at - 16, 16, fmt::format("{:016x}", xxh64(text)));
  spit(path, text);
  spit(dir / "iter_0000020/checksums.txt", sums);
  expect_error([&] { (void)open_checkpoint(dir.path()); }, "format version 3");
}

}  // namespace
}  // namespace megalith
