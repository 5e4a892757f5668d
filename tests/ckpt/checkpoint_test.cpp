#include "ckpt/native/checkpoint.h"

#include <map>

#include "ckpt/native/checkpoint_layout.h"
#include "tests/ckpt/small_state.h"

namespace megalith {
namespace {

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
  expect_error([&] { (void)c.read_block("w", {0, 0}, {3, 4}, small); }, "has 48 bytes, its destination 4");
  expect_error([&] { (void)c.read_block("x", {0}, {1}, small); }, "has no tensor x");
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
  for (i64 begin = 0; begin <= 60; ++begin)
    for (i64 n = 0; begin + n <= 60; ++n) {
      std::vector<i32> out(std::size_t(n), -1);
      check.read_range("t", begin, n, reinterpret_cast<std::byte*>(out.data()));
      ASSERT_TRUE(std::ranges::equal(out, std::span(whole).subspan(begin, n))) << n << " elements from " << begin;
    }
  std::vector<std::byte> out(8);
  expect_error([&] { (void)check.read_block("t", {6, 0, 0}, {1, 1, 2}, out); }, "not a block");
  expect_error([&] { check.read_range("t", 59, 2, out.data()); }, "no elements 59 to 61");
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

// A tensor of several chunks: a read verifies the chunks that hold its range, and only these.
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

// Chunks of two blocks: some are read whole, directly into their destination with O_DIRECT, others only in part.
TEST(Checkpoint, reads_past_the_page_cache_what_it_reads_through_it) {
  TempDir dir;
  constexpr i64 kRow = 700'001, kRows = 7, kFirst = 3,
                kChunk = i64{1} << 20;  // rows of 2.7 MiB in chunks of 4 MiB; the first block's rows
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
  for (const i64 begin : {i64{0}, i64{5}, kChunk, kFirst * kRow - 1, kFirst * kRow, kFirst * kRow + kChunk, 5 * kRow})
    for (const i64 end : {kChunk + 1, 2 * kChunk, kFirst * kRow + 2 * kChunk, kRows * kRow}) {
      std::vector<i32> out(std::size_t(std::max<i64>(0, end - begin)), -1);
      c.read_range("t", begin, i64(out.size()), reinterpret_cast<std::byte*>(out.data()));
      EXPECT_TRUE(std::ranges::equal(out, std::span(data).subspan(begin, i64(out.size())))) << begin << " to " << end;
    }
  EXPECT_EQ(c.cut_before("t", 2 * kChunk - 1), kChunk);
  EXPECT_EQ(c.cut_before("t", 2 * kChunk), 2 * kChunk);
  EXPECT_EQ(c.cut_before("t", kFirst * kRow + 5), kFirst * kRow);  // a chunk begins where the second block begins
  EXPECT_EQ(c.cut_before("t", kFirst * kRow + kChunk + 5), kFirst * kRow + kChunk);
  EXPECT_EQ(c.cut_before("t", kRows * kRow), kRows * kRow);
  const std::vector<i32> columns = read(1, 5, kRow - 2, 2);
  for (i64 i = 0; i < i64(columns.size()); ++i) EXPECT_EQ(columns[i], (i / 2 + 2) * kRow - 2 + i % 2) << i;

  // A wrong byte in the second chunk of the second block, which begins in its row 1.
  const std::string shard = dir / "iter_0000001/shard_00000.safetensors";
  const i64 second = TensorFiles::open_file(shard).at(c.find("t")->blocks[1].key).offset;
  std::fstream file(shard, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(second + (i64{4} << 20) + 5);
  file.put('\x7f');
  file.close();
  EXPECT_EQ(read(0, kFirst + 1, 0, kRow).back(), (kFirst + 1) * kRow - 1);
  for (const i64 rows : {kRows - kFirst, i64{2}})  // as a whole, and in part
    expect_error([&] { (void)read(kFirst, rows, 0, kRow); }, "wrong checksum; tensor t");
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
  expect_holds(open_checkpoint(dir.path()), State(30));  // not one from the future
  fs::remove_all(dir / "iter_0000030");
  expect_holds(open_checkpoint(dir.path()), State(40));  // but it is better than nothing
  testing::internal::GetCapturedStderr();
}

TEST(Checkpoint, leaves_nothing_of_the_one_it_replaces) {
  for (const bool exchange : {true, false}) {
    TempDir dir;
    for (const int writes : {1, 2}) State(10, writes).save(dir.path(), {.exchange = exchange});
    EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{"iter_0000010", kLatestFile}));
  }
}

TEST(Checkpoint, leaves_other_processes_work_alone) {
  TempDir dir;
  fs::create_directories(dir / fmt::format("iter_0000005.tmp-{}", ::getppid()));
  fs::create_directories(dir / "iter_0000006.tmp-999999999");
  const fs::path older = dir / fmt::format("iter_0000007.tmp-{}", ::getppid());  // than the process with this id
  fs::create_directories(older);
  fs::last_write_time(older, fs::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  fs::create_directories(dir / "iter_notes");
  State(10).save(dir.path());
  EXPECT_EQ(names_in(dir.path()),
            (std::set<std::string>{"iter_0000010", "iter_notes", fmt::format("iter_0000005.tmp-{}", ::getppid()),
                                   "latest_checkpointed_iteration.txt"}));
}

// Temporary names have a checkpoint's name with a mark and a number; other names belong to users.
TEST(Checkpoint, leaves_other_peoples_names_alone) {
  TempDir dir;
  State(10).save(dir.path());
  std::set<std::string> names{"iter_0000010.tmp-", "iter_0000010.tmp-backup", "iter_0000010.replaced-by-me",
                              "iter_mine.tmp-999999999", "iter_mine.replaced-999999999"};
  for (const std::string& name : names) fs::copy(dir / "iter_0000010", dir / name);
  State(20).save(dir.path(), {.keep_last = 1});
  names.insert({"iter_0000020", kLatestFile});
  EXPECT_EQ(names_in(dir.path()), names);
}

// The remains of a killed save may be what fills the disk.
TEST(Checkpoint, makes_room_before_it_writes) {
  TempDir dir;
  State(10).save(dir.path());
  fs::create_directories(dir / "iter_0000005.tmp-999999999");
  // May be needed until the next one is complete.
  fs::copy(dir / "iter_0000010", dir / "iter_0000010.replaced-999999999");
  std::set<std::string> then;
  const auto hook = [&](const FileStep& step) {
    if (step.kind == "create" && then.empty()) then = names_in(dir.path());
  };
  State(20).save(dir.path(), {.hook = hook});
  EXPECT_EQ(then, (std::set<std::string>{"iter_0000010", "iter_0000010.replaced-999999999", kLatestFile,
                                         fmt::format("iter_0000020.tmp-{}", ::getpid())}));
  EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{"iter_0000010", "iter_0000020", kLatestFile}));
}

TEST(Checkpoint, one_that_cannot_be_removed_keeps_no_other) {
  TempDir dir;
  for (const i64 i : {10, 20, 30}) State(i).save(dir.path());
  fs::create_directories(dir / "iter_0000005.tmp-999999999");
  testing::internal::CaptureStderr();
  const auto hook = [](const FileStep& step) {
    if (step.kind == "remove" && step.path.ends_with("5.tmp-999999999")) throw Error("it is mounted");
    if (step.kind == "rename" && step.path.ends_with("iter_0000010")) throw Error("it is another's");
  };
  State(40).save(dir.path(), {.keep_last = 1, .hook = hook});
  EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{"iter_0000005.tmp-999999999", "iter_0000010", "iter_0000040",
                                                         "latest_checkpointed_iteration.txt"}));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("it is mounted"), std::string::npos) << said;
  EXPECT_NE(said.find("it is another's"), std::string::npos) << said;
}

// Moves SAVE away before each step of a save in turn, and puts an empty directory in its place. This directory may be
// another job's, or the place of a mount: it stays empty.
TEST(Checkpoint, a_save_writes_nothing_where_its_directory_was) {
  int tried = 0;
  for (bool is_past_the_end = false; !is_past_the_end;) {
    TempDir dir;
    const std::string save = dir / "save", away = dir / "away";
    State(10).save(save);
    int steps = 0;
    std::string before;
    const auto is_ours = [&] { check(!fs::exists(away), "moved"); };
    const auto hook = [&](const FileStep& step) {
      if (++steps == tried + 1) before = step.kind, fs::rename(save, away), fs::create_directory(save);
    };
    testing::internal::CaptureStderr();
    try {
      State(20).save(save, {.still_ours = is_ours, .hook = hook});
    } catch (const Error&) {
    }
    testing::internal::GetCapturedStderr();
    if ((is_past_the_end = before.empty())) continue;
    EXPECT_EQ(names_in(save), std::set<std::string>()) << tried << " " << before;
    EXPECT_TRUE(fs::exists(away + "/iter_0000010")) << tried << " " << before;
    ++tried;
  }
  EXPECT_GT(tried, 10);
}

// A manifest's claims are checked before anything is read with them.
TEST(Manifest, refuses_chunks_and_depths_that_nobody_writes) {
  TempDir dir;
  State(3).save(dir.path());
  const std::string text = slurp(dir / "iter_0000003/manifest.json");
  EXPECT_NO_THROW(parse_manifest(text, "m", true));
  const auto with_chunks = [&](const std::string& bytes) {
    std::string changed = text;
    const auto at = changed.find("\"chunk_bytes\": ") + 15;
    return changed.replace(at, changed.find(',', at) - at, bytes);
  };
  for (const char* bytes : {"0", "-4", "4194303", "9223372036854775807", "9223372036854775804"})
    expect_error([&] { parse_manifest(with_chunks(bytes), "m", true); }, "impossible");
  // The first half twice has as many elements as the whole.
  const std::string block = R"({"file":"f","key":"k","offset":[0,0],"shape":[1,4],"xxh64":["00"]})";
  const auto with_blocks = [&](const std::string& second) {
    std::string changed = text;
    const auto begin = changed.find("\"tensors\": [") + 12;
    return changed.replace(begin, changed.rfind(']') - begin,
                           R"({"name":"w","dtype":"f32","shape":[2,4],"blocks":[)" + block + "," + second + "]}");
  };
  EXPECT_NO_THROW(
      parse_manifest(with_blocks(R"({"file":"f","key":"k2","offset":[1,0],"shape":[1,4],"xxh64":["00"]})"), "m", true));
  expect_error([&] { parse_manifest(with_blocks(block), "m", true); }, "two blocks of w overlap");
  const auto at = text.find("\"config\": ") + 10;
  const std::string deep =
      text.substr(0, at) + std::string(1'000'000, '[') + std::string(1'000'000, ']') + text.substr(text.find(',', at));
  expect_error([&] { parse_manifest(deep, "m", true); }, "nested more than 64 levels deep");
}

}  // namespace
}  // namespace megalith
