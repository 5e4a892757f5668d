#include "ckpt/checkpoint.h"

#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

// A model's state whose numbers all depend on `seed`.
struct State {
  Manifest manifest;
  std::vector<float> weight = std::vector<float>(12), moment = std::vector<float>(12);
  std::vector<bf16> half = std::vector<bf16>(5);

  explicit State(i64 iteration, float seed = 1) {
    manifest = {iteration, iteration * 32, R"({"hidden_size":4})",
                fmt::format(R"({{"seed":18446744073709551615,"lr":{}}})", 0.1 * seed)};
    std::iota(weight.begin(), weight.end(), 100 * seed + float(iteration));
    std::iota(moment.begin(), moment.end(), 1000 * seed + float(iteration));
    for (std::size_t i = 0; i < half.size(); ++i) half[i] = seed * float(i);
  }
  std::vector<SaveTensor> tensors() const {
    return {
        {"w", {3, 4}, DType::f32, weight.data()},
        {"optimizer.exp_avg.w", {3, 4}, DType::f32, moment.data()},
        {"h", {5}, DType::bf16, half.data()},
        {.name = "filled",
         .shape = {2, 5},
         .fill = [this](i64 begin, i64 n,
                        std::byte* out) { std::memcpy(out, weight.data() + begin, std::size_t(n) * sizeof(float)); }},
        {"none", {0, 3}, DType::f32, nullptr},
        {"scalar", {}, DType::f32, weight.data()}};
  }
  void save(const std::string& dir, const SaveOptions& options = {}) const {
    save_checkpoint(dir, manifest, tensors(), options);
  }
};

void expect_holds(const Checkpoint& c, const State& s) {
  EXPECT_EQ(c.manifest().iteration, s.manifest.iteration);
  EXPECT_EQ(c.manifest().consumed_samples, s.manifest.consumed_samples);
  EXPECT_EQ(c.manifest().config_json, s.manifest.config_json);
  EXPECT_EQ(nlohmann::json::parse(c.manifest().state_json), nlohmann::json::parse(s.manifest.state_json));
  const void* weights = s.weight.data();
  for (const SaveTensor& t : s.tensors()) {
    std::vector<std::byte> out(std::size_t(count(t.shape) * size_of(t.dtype)));
    c.read(t.name, out);
    const void* data = t.fill ? weights : t.data;
    EXPECT_TRUE(out.empty() || std::memcmp(out.data(), data, out.size()) == 0) << t.name;
  }
  EXPECT_EQ(c.tensors().size(), s.tensors().size());
}

// Thrown by a hook like a power cut: not a std::exception, so nothing cleans up after it.
struct Crash {};

std::set<std::string> names_in(const std::string& dir) {
  std::set<std::string> names;
  for (const auto& e : fs::directory_iterator(dir)) names.insert(e.path().filename().string());
  return names;
}

TEST(Checkpoint, saves_and_loads) {
  TempDir dir;
  EXPECT_FALSE(has_checkpoint(dir / "save"));
  const State s(10);
  s.save(dir / "save");
  EXPECT_TRUE(has_checkpoint(dir / "save"));
  EXPECT_EQ(slurp(dir / "save/latest_checkpointed_iteration.txt"), "10");
  EXPECT_EQ(names_in(dir / "save"), (std::set<std::string>{"iter_0000010", "latest_checkpointed_iteration.txt"}));
  expect_holds(open_checkpoint(dir / "save"), s);
  expect_holds(open_checkpoint(dir / "save/iter_0000010"), s);
  expect_holds(open_checkpoint(dir / "save", {.iteration = 10, .verify = false}), s);
  expect_error([&] { (void)open_checkpoint(dir / "save", {.iteration = 11}); }, "holds iterations [10]");
  expect_error([&] { (void)open_checkpoint(dir / "other"); }, "holds no checkpoint");
  EXPECT_EQ(TensorFiles::open_file(dir / "save/iter_0000010/shard_00000.safetensors").read_f32("w"), s.weight);
  const Checkpoint c = open_checkpoint(dir / "save");
  std::vector<std::byte> small(4);
  expect_error([&] { (void)c.read("w", small); }, "has 48 bytes, its destination 4");
  expect_error([&] { (void)c.read("x", small); }, "has no tensor x");
}

TEST(Checkpoint, puts_blocks_together) {
  TempDir dir;
  std::vector<i32> whole(6 * 5 * 2);
  std::iota(whole.begin(), whole.end(), 0);
  const auto block = [&](i64 r, i64 rows, i64 c, i64 columns) {
    std::vector<i32> out;
    for (i64 i = r; i < r + rows; ++i)
      for (i64 j = c; j < c + columns; ++j)
        for (i64 k = 0; k < 2; ++k) out.push_back(whole[std::size_t((i * 5 + j) * 2 + k)]);
    return out;
  };
  const auto a = block(0, 2, 0, 5), b = block(2, 4, 0, 3), c = block(2, 4, 3, 2);
  const Shape global = {6, 5, 2};
  const std::vector<SaveTensor> parts = {{"t", {2, 5, 2}, DType::i32, a.data(), global, {0, 0, 0}},
                                         {"t", {4, 3, 2}, DType::i32, b.data(), global, {2, 0, 0}},
                                         {"t", {4, 2, 2}, DType::i32, c.data(), global, {2, 3, 0}}};
  save_checkpoint(dir.path(), {.iteration = 1}, parts);
  const Checkpoint check = open_checkpoint(dir.path());
  for (i64 r = 0; r < 6; ++r)
    for (i64 rows = 0; r + rows <= 6; ++rows)
      for (i64 col = 0; col < 5; ++col)
        for (i64 columns = 0; col + columns <= 5; ++columns) {
          std::vector<i32> out(std::size_t(rows * columns * 2));
          check.read_block("t", {r, col, 0}, {rows, columns, 2}, std::as_writable_bytes(std::span(out)));
          ASSERT_EQ(out, block(r, rows, col, columns));
        }
  std::vector<std::byte> out(8);
  expect_error([&] { (void)check.read_block("t", {6, 0, 0}, {1, 1, 2}, out); }, "not a block");
  save_checkpoint(dir.path(), {.iteration = 2}, std::span(parts).first(1));
  expect_error([&] { (void)open_checkpoint(dir.path(), {.iteration = 2}); }, "blocks of t have 20 of 60 elements");
}

TEST(Checkpoint, several_writers_share_the_tensors) {
  TempDir dir;
  const State s(10);
  s.save(dir / "save", {.writers = 3});
  const std::string at = dir / "save/iter_0000010";
  for (int w = 0; w < 3; ++w) EXPECT_TRUE(fs::exists(fmt::format("{}/shard_00000_{}.safetensors", at, w))) << w;
  expect_holds(open_checkpoint(dir / "save"), s);
}

// A tensor of several chunks: what is read is compared, and no more than the chunks that hold it.
TEST(Checkpoint, reads_and_compares_only_the_chunks_it_needs) {
  TempDir dir;
  std::vector<float> data(std::size_t{5} << 20);  // 20 MiB: five chunks
  std::iota(data.begin(), data.end(), 0.0f);
  const std::vector<SaveTensor> tensors = {{"t", {5, 1 << 20}, DType::f32, data.data()}};
  save_checkpoint(dir.path(), {.iteration = 1}, tensors);
  const std::string shard = dir / "iter_0000001/shard_00000.safetensors";
  std::string bytes = slurp(shard);
  bytes[bytes.size() - 100] ^= 1;  // in the last row
  spit(shard, bytes);
  const Checkpoint c = open_checkpoint(dir.path(), {.verify = false});
  std::vector<float> row(std::size_t{1} << 20), column(4);
  for (i64 r = 0; r < 4; ++r) {
    c.read_block("t", {r, 0}, {1, 1 << 20}, std::as_writable_bytes(std::span(row)));
    EXPECT_EQ(row.front(), data[std::size_t(r) << 20]);
  }
  c.read_block("t", {0, 7}, {4, 1}, std::as_writable_bytes(std::span(column)));
  EXPECT_EQ(column, (std::vector<float>{data[7], data[(1 << 20) + 7], data[(2 << 20) + 7], data[(3 << 20) + 7]}));
  expect_error(
      [&] {
        c.read_block("t", {4, 0}, {1, 1}, std::as_writable_bytes(std::span(column).first(1)));
      },
      "wrong checksum; tensor t");
}

// Chunks of two blocks, some wanted whole and read past the page cache where they belong, others only in part.
TEST(Checkpoint, reads_past_the_page_cache_what_it_reads_through_it) {
  TempDir dir;
  constexpr i64 kRow = 700'001, kRows = 7, kFirst = 3;  // rows of 2.7 MiB in chunks of 4 MiB; the first block's rows
  std::vector<i32> data(std::size_t(kRows * kRow));
  std::iota(data.begin(), data.end(), 0);
  const Shape whole = {kRows, kRow};
  const std::vector<SaveTensor> parts = {
      {"t", {kFirst, kRow}, DType::i32, data.data(), whole, {0, 0}},
      {"t", {kRows - kFirst, kRow}, DType::i32, data.data() + kFirst * kRow, whole, {kFirst, 0}}};
  save_checkpoint(dir.path(), {.iteration = 1}, parts);
  const Checkpoint c = open_checkpoint(dir.path(), {.verify = false, .past_cache = true});
  const auto read = [&](i64 r, i64 rows, i64 column, i64 columns) {
    std::vector<i32> out(std::size_t(rows * columns), -1);
    c.read_block("t", {r, column}, {rows, columns}, std::as_writable_bytes(std::span(out)));
    return out;
  };
  for (i64 r = 0; r < kRows; ++r)
    for (i64 rows = 1; r + rows <= kRows; ++rows)
      EXPECT_TRUE(std::ranges::equal(read(r, rows, 0, kRow), std::span(data).subspan(r * kRow, rows * kRow)))
          << rows << " rows at " << r;
  const std::vector<i32> columns = read(1, 5, kRow - 2, 2);
  for (i64 i = 0; i < i64(columns.size()); ++i) EXPECT_EQ(columns[i], (i / 2 + 2) * kRow - 2 + i % 2) << i;

  // A wrong byte of the second block's second chunk, which begins in its row 1.
  const std::string shard = dir / "iter_0000001/shard_00000.safetensors";
  const i64 second = TensorFiles::open_file(shard).at(c.find("t")->blocks[1].key).offset;
  std::fstream file(shard, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(second + (i64{4} << 20) + 5);
  file.put('\x7f');
  file.close();
  EXPECT_EQ(read(0, kFirst + 1, 0, kRow).back(), (kFirst + 1) * kRow - 1);
  for (const i64 rows : {kRows - kFirst, i64{2}})  // whole, and in part
    expect_error([&] { (void)read(kFirst, rows, 0, kRow); }, "wrong checksum; tensor t");
}

TEST(Checkpoint, refuses_another_model_and_tells_how_it_differs) {
  TempDir dir;
  State(10).save(dir.path());
  const Checkpoint c = open_checkpoint(dir.path());
  const auto ignore = [](const std::string& name) { return name.starts_with("optimizer."); };
  const std::vector<NamedShape> same = {
      {"w", {3, 4}}, {"h", {5}}, {"none", {0, 3}}, {"scalar", {}}, {"filled", {2, 5}}};
  EXPECT_NO_THROW(c.check_tensors(same, ignore));
  const std::vector<NamedShape> other = {
      {"w", {4, 4}}, {"new", {2}}, {"none", {0, 3}}, {"scalar", {}}, {"filled", {2, 5}}};
  const std::string message = error_of([&] { c.check_tensors(other, ignore); });
  EXPECT_NE(message.find("1 tensors missing, 1 of another shape, 1 unexpected"), std::string::npos) << message;
  EXPECT_NE(message.find("w: [3, 4] there, [4, 4] here; new: nothing there, [2] here; h: [5] there, nothing here"),
            std::string::npos)
      << message;
}

// What a disk may lose in a power cut: bytes that were not fsynced, and names whose directory was not.
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
  // Keeps so much of the unsynced bytes; at 0 also loses unsynced names.
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

// Stops a save before each of its steps, as a power cut would.
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
      // The next save goes over whatever the crash left, and nothing of it remains.
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
      EXPECT_NE(std::string(e.what()).find("iteration 20 was not saved: [file] no space left"), std::string::npos)
          << e.what();
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

TEST(Checkpoint, names_the_damaged_tensor) {
  TempDir dir;
  State(10).save(dir.path());
  const std::string path = dir / "iter_0000010/shard_00000.safetensors";
  const TensorInfo t = TensorFiles::open_file(path).at("optimizer.exp_avg.w");
  std::string flipped = slurp(path);
  flipped[std::size_t(t.offset) + 5] ^= 1;
  spit(path, flipped);
  expect_error([&] { (void)open_checkpoint(dir.path()); }, "holds no whole checkpoint");
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

TEST(Checkpoint, keeps_the_last_ones_and_those_of_an_abandoned_future) {
  TempDir dir;
  for (const i64 i : {10, 20, 30, 40}) State(i).save(dir.path(), {.keep_last = 2});
  EXPECT_EQ(names_in(dir.path()),
            (std::set<std::string>{"iter_0000030", "iter_0000040", "latest_checkpointed_iteration.txt"}));
  State(35).save(dir.path(), {.keep_last = 1});
  EXPECT_EQ(names_in(dir.path()),
            (std::set<std::string>{"iter_0000035", "iter_0000040", "latest_checkpointed_iteration.txt"}));
  testing::internal::CaptureStderr();
  expect_holds(open_checkpoint(dir.path()), State(35));
  State(30).save(dir.path());
  State(35).save(dir.path());
  spit(dir / "iter_0000035/manifest.json", "");
  expect_holds(open_checkpoint(dir.path()), State(30));  // not the future's
  fs::remove_all(dir / "iter_0000030");
  expect_holds(open_checkpoint(dir.path()), State(40));  // but that rather than nothing
  testing::internal::GetCapturedStderr();
}

TEST(Checkpoint, leaves_other_processes_work_alone) {
  TempDir dir;
  fs::create_directories(dir / fmt::format("iter_0000005.tmp-{}", ::getppid()));
  fs::create_directories(dir / "iter_0000006.tmp-999999999");
  const fs::path older = dir / fmt::format("iter_0000007.tmp-{}", ::getppid());  // than the process of that number
  fs::create_directories(older);
  fs::last_write_time(older, fs::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  fs::create_directories(dir / "iter_notes");
  State(10).save(dir.path());
  EXPECT_EQ(names_in(dir.path()),
            (std::set<std::string>{"iter_0000010", "iter_notes", fmt::format("iter_0000005.tmp-{}", ::getppid()),
                                   "latest_checkpointed_iteration.txt"}));
}

}  // namespace
}  // namespace megalith
