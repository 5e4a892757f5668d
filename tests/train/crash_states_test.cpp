// Power cuts at every step of a save, by one rank and by several. Every possible loss of unsynced data is tried. The
// disk must then have the old checkpoint or the new one, never a mixture and never nothing.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <unordered_set>

#include "ckpt/native/checkpoint.h"
#include "ckpt/native/shards.h"
#include "disk_model.h"
#include "resume/background_save.h"
#include "tests/ckpt/helpers.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {
namespace {

// There are two tensors. Their rows are divided among the ranks.
constexpr i64 kRows = 12, kColumns = 5;
struct State {
  i64 iteration;
  float seed;

  std::vector<float> rows(i64 begin, i64 n, float tensor) const {
    std::vector<float> out(std::size_t(n * kColumns));
    std::iota(out.begin(), out.end(), 1000 * seed + 100 * tensor + float(begin * kColumns));
    return out;
  }
  Manifest manifest() const { return {iteration, iteration * 8, "{}", fmt::format(R"({{"seed":{}}})", seed)}; }

  // Saves as training does, on each rank. Returns the error text if the save failed.
  std::string save(const std::string& dir, Ranks& ranks, const SaveOptions& options) const {
    const i64 n = kRows / ranks.size(), begin = n * ranks.rank();
    const auto weight = rows(begin, n, 1), moment = rows(begin, n, 2);
    const std::vector<SaveTensor> tensors = {
        {"w", {n, kColumns}, DType::f32, weight.data(), {kRows, kColumns}, {begin, 0}},
        {"optimizer.exp_avg.w", {n, kColumns}, DType::f32, moment.data(), {kRows, kColumns}, {begin, 0}}};
    BackgroundSave save(ranks, SaveSteps(dir, iteration, options), false,
                        [&] { return std::make_unique<ShardWriter>(manifest(), tensors, ranks.rank(), options); });
    return save.wait().error;
  }
  void save(const std::string& dir, int ranks, const SaveOptions& options) const {
    fs::create_directories(dir);
    harness::run_ranks(ranks, [&](Ranks& r) { EXPECT_EQ(save(dir, r, options), ""); });
  }

  bool is_in(const Checkpoint& c) const {
    if (c.manifest().iteration != iteration || c.manifest().state_json != manifest().state_json) return false;
    float number = 1;
    for (const char* name : {"w", "optimizer.exp_avg.w"}) {
      const std::vector<float> expected = rows(0, kRows, number++);
      std::vector<float> found(expected.size());
      c.read_block(name, {0, 0}, {kRows, kColumns}, std::as_writable_bytes(std::span(found)));
      if (found != expected) return false;
    }
    return c.tensors().size() == 2;
  }
};

struct Save {
  const char* name;
  int ranks = 1;
  i64 old_iteration = 10, new_iteration = 20;
  i64 keep_last = 1;
  bool exchange = true;
};

struct Count {
  int states = 0, old_ones = 0, new_ones = 0, bad = 0;
  std::string first_bad;
};

void write_tree(const std::string& root, const DiskModel::Left& left) {
  fs::remove_all(root);
  fs::create_directories(root);
  for (const auto& [name, bytes] : left) {  // a directory comes before its content
    if (bytes == "/")
      fs::create_directories(root + "/" + name);
    else
      spit(root + "/" + name, bytes);
  }
}

enum class FoundState { old_one, new_one, wrong };
FoundState look(const std::string& dir, const State& old_state, const State& new_state, std::string& why) {
  try {
    const Checkpoint c = open_checkpoint(dir);
    if (new_state.is_in(c)) return FoundState::new_one;
    if (old_state.is_in(c)) return FoundState::old_one;
    why = "a mixture";
  } catch (const Error& e) {
    why = e.what();
  }
  return FoundState::wrong;
}

// Counts the different disk states after a save over an old checkpoint.
Count count_states(const Save& save, const std::function<bool(const FileStep&)>& forgets = {}) {
  TempDir dir;
  const std::string real = dir / "real", left_over = dir / "left";
  const State old_state{save.old_iteration, 1}, new_state{save.new_iteration, 2};
  old_state.save(real, save.ranks, {});
  DiskModel disk(real, forgets);
  SaveOptions options{.keep_last = save.keep_last, .exchange = save.exchange};
  // All ranks write before any of them syncs. So the most data can be lost at the same time.
  std::mutex mutex;
  std::condition_variable all_wrote;
  int wrote = 0;
  options.hook = [&](const FileStep& step) {
    if (step.kind == "fsync" && step.path.ends_with(".safetensors")) {
      std::unique_lock lock(mutex);
      ++wrote;
      all_wrote.notify_all();
      all_wrote.wait_for(lock, std::chrono::milliseconds(500), [&] { return wrote >= save.ranks; });
    }
    disk.see(step);
  };
  new_state.save(real, save.ranks, options);
  testing::internal::CaptureStderr();
  Count n;
  std::unordered_set<std::string> known;
  for (int cut = 0; cut <= disk.steps(); ++cut)
    disk.for_states(cut, [&](const DiskModel::Left& left) {
      std::string all = cut == disk.steps() ? "done" : "";
      for (const auto& [name, bytes] : left) all += name + "\n" + bytes + "\n";
      if (!known.insert(all).second) return;
      ++n.states;
      write_tree(left_over, left);
      std::string why;
      FoundState found = look(left_over, old_state, new_state, why);
      if (found == FoundState::old_one && cut == disk.steps())
        found = FoundState::wrong, why = "the old one after the end";
      n.old_ones += found == FoundState::old_one, n.new_ones += found == FoundState::new_one;
      if (found == FoundState::wrong && n.bad++ == 0) n.first_bad = disk.print(cut) + ": " + why;
    });
  testing::internal::GetCapturedStderr();
  return n;
}

constexpr Save kSaves[] = {
    {.name = "one_rank"},
    {.name = "keeping_both", .keep_last = 0},
    {.name = "replacing_by_exchange", .new_iteration = 10},
    {.name = "replacing_by_two_renames", .new_iteration = 10, .exchange = false},
    {.name = "two_ranks", .ranks = 2},
    {.name = "four_ranks", .ranks = 4},
    {.name = "three_ranks_replacing", .ranks = 3, .new_iteration = 10},
    {.name = "back_to_before", .old_iteration = 30, .keep_last = 1},
};

TEST(CrashStates, each_loads_the_old_or_the_new) {
  int states = 0;
  for (const Save& save : kSaves) {
    const Count n = count_states(save);
    fmt::print("{:<26} {:5} states: {:5} load the old checkpoint, {:5} the new one, {} neither\n", save.name, n.states,
               n.old_ones, n.new_ones, n.bad);
    EXPECT_EQ(n.bad, 0) << save.name << " before " << n.first_bad;
    EXPECT_GT(n.old_ones, 0) << save.name;
    EXPECT_GT(n.new_ones, 0) << save.name;
    states += n.states;
  }
  fmt::print("{} states in all\n", states);
  EXPECT_GE(states, 1000);
}

// Each sync is necessary. If one is omitted, the test must find a disk state without a complete checkpoint.
TEST(CrashStates, a_forgotten_sync_is_seen) {
  struct Forgotten {
    const char *kind, *end;
  };
  for (const Forgotten& f : {Forgotten{"fsync", "shard_00001.safetensors"},
                             {"fsync", "manifest.json"},
                             {"fsync", "checksums.txt"},
                             {"fsync-dir", ".tmp-"},
                             {"fsync-dir", "/real"}}) {
    int forgotten = 0;
    const Count n = count_states({.name = "", .ranks = 2}, [&](const FileStep& s) {
      const bool is_it =
          s.kind == f.kind && (s.path.ends_with(f.end) || (s.kind == "fsync-dir" && std::strcmp(f.end, ".tmp-") == 0 &&
                                                           s.path.find(f.end) != std::string::npos));
      forgotten += is_it;
      return is_it;
    });
    EXPECT_GT(forgotten, 0) << f.kind << " " << f.end;
    EXPECT_GT(n.bad, 0) << f.kind << " " << f.end << ", " << n.states << " states";
  }
}

// If a step fails on any rank, all ranks get an error. The old checkpoint stays.
TEST(CrashStates, an_io_error_on_any_rank_fails_on_all) {
  constexpr int kRanks = 3;
  const State old_state{10, 1}, new_state{20, 2};
  int failures = 0;
  for (int failing = 0; failing < kRanks; ++failing) {
    for (int k = 0, done = 0; done == 0; ++k) {
      ASSERT_LT(k, 200);
      TempDir dir;
      old_state.save(dir / "save", kRanks, {});
      std::atomic<int> errors = 0;
      harness::run_ranks(kRanks, [&](Ranks& r) {
        int step = 0;
        SaveOptions options{.keep_last = 1};
        options.hook = [&](const FileStep& s) {
          if (r.rank() == failing && step++ == k) fail("[file] cannot write {}: Input/output error", s.path);
        };
        const std::string error = new_state.save(dir / "save", r, options);
        if (!error.empty()) {
          ++errors;
          EXPECT_TRUE(error.starts_with(fmt::format("rank {}: ", failing)) &&
                      error.find("[file] cannot write ") != error.npos && error.ends_with("Input/output error"))
              << error;
        }
        if (r.rank() == failing && step <= k) done = 1;
      });
      EXPECT_TRUE(errors == 0 || errors == kRanks) << errors << " ranks failed";
      failures += errors > 0;
      const Checkpoint c = open_checkpoint(dir / "save");
      const bool is_new = c.manifest().iteration == 20;
      EXPECT_TRUE(is_new || (errors > 0 && old_state.is_in(c)));
    }
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace megalith
