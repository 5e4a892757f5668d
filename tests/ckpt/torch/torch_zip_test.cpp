#include "ckpt/torch/torch_zip.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>

#include "ckpt/tensors/tensor_store.h"
#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_file.h"
#include "ckpt/torch/torch_zip_writer.h"
#include "mesh/block_copy.h"
#include "tests/ckpt/torch/python.h"

namespace megalith {
namespace {

// Three records, some of which need 64-bit sizes or offsets.
std::string write_zip(i64 limit) {
  std::string out;
  TorchZipWriter zip(
      [&](std::span<const std::byte> b) { out.append(reinterpret_cast<const char*>(b.data()), b.size()); }, "archive",
      limit);
  zip.record("data.pkl", "\x80\x02N.");
  zip.record("data/0", std::string(1000, 'x'));
  zip.record("data/1", "");
  const i64 size = zip.finish();
  EXPECT_EQ(size, i64(out.size()));
  return out;
}

TEST(TorchZip, wide_sizes) {
  TempDir dir;
  for (const i64 limit : {i64{0xfffffffe}, i64{500}, i64{100}, i64{0}}) {
    spit(dir / "x.zip", write_zip(limit));
    const ReadFile file(dir / "x.zip");
    const TorchZip zip(FileRange(file), "x");
    ASSERT_EQ(zip.records().size(), 3u);
    for (const ZipRecord& r : zip.records()) {
      zip.verify(r);
      if (r.size > 0) {
        EXPECT_EQ(r.begin % 64, 0) << r.name;
      }
    }
    EXPECT_EQ(zip.at("data/0").size, 1000);
    EXPECT_EQ(zip.at("data/1").size, 0);
    expect_error([&] { (void)zip.at("data/2"); }, "no record data/2");
    if (!python_has("zipfile")) continue;
    const std::string program = "import zipfile; z = zipfile.ZipFile(\"" + dir / "x.zip" +
                                "\"); assert z.testzip() is None; assert z.read(\"archive/data/0\") == b\"x\" * 1000";
    EXPECT_EQ(std::system((python() + " -c '" + program + "'").c_str()), 0) << limit;
  }
}

TEST(TorchZip, refuses_damage) {
  const std::string good = write_zip(500);
  TempDir dir;
  const auto read = [&](const std::string& text) {
    spit(dir / "x.zip", text);
    const ReadFile file(dir / "x.zip");
    const TorchZip zip(FileRange(file), "x");
    for (const ZipRecord& r : zip.records()) zip.verify(r);
  };
  EXPECT_NO_THROW(read(good + std::string(1000, 'c'))) << "bytes behind it, as a comment would be";
  for (std::size_t n = 0; n < good.size(); n += 7)
    EXPECT_EQ(error_of([&] { read(good.substr(0, n)); }).find('\n'), std::string::npos);
  for (std::size_t n = 0; n < good.size() * 8; ++n) {
    std::string bad = good;
    bad[n / 8] ^= char(1 << n % 8);
    try {
      read(bad);
    } catch (const Error&) {
    }
  }
}

// A tensor from a big-endian machine, one with strides, and one with attributes, like Megatron-LM's main values.
TEST(TorchFile, byte_order_strides_and_attributes) {
  PickleWriter p;
  const auto arguments = [&](bool turned) {
    p.persistent(
        [&] { p.text("storage"), p.global("torch", "IntStorage"), p.text("0"), p.text("cuda:3"), p.integer(6); });
    const i64 shape[] = {turned ? 3 : 2, turned ? 2 : 3}, strides[] = {turned ? 1 : 3, turned ? 3 : 1};
    p.integer(0), p.sizes(shape), p.sizes(strides), p.boolean(false);
    p.call("collections", "OrderedDict", [] {});
  };
  p.dict([&] {
    p.text("plain"), p.call("torch._utils", "_rebuild_tensor_v2", [&] { arguments(false); });
    p.text("turned"), p.call("torch._utils", "_rebuild_tensor_v2", [&] { arguments(true); });
    p.text("tagged"), p.call("torch._tensor", "_rebuild_from_type_v2", [&] {
      p.global("torch._utils", "_rebuild_tensor_v2"), p.global("torch", "Tensor");
      p.tuple([&] { arguments(false); });
      p.dict([&] { p.entry("partition_dim", i64{0}); });
    });
  });
  std::string out, data;
  for (int i = 0; i < 6; ++i) data += std::string("\0\0\1", 3) + char(i);  // 256 + i
  TorchZipWriter zip(
      [&](std::span<const std::byte> b) { out.append(reinterpret_cast<const char*>(b.data()), b.size()); });
  zip.record("data.pkl", p.finish());
  zip.record("byteorder", "big");
  zip.record("data/0", data);
  zip.finish();
  TempDir dir;
  spit(dir / "x.pt", out);
  const ReadFile archive(dir / "x.pt");
  const TorchFile file(FileRange(archive), "x.pt");
  TensorStore store("x");
  store.add_file(dir / "x.pt");
  for (const char* name : {"plain", "turned", "tagged"}) {
    const auto t = file.tensor(*file.root().find(name));
    ASSERT_TRUE(t.has_value() && t->swapped);
    store.add_tensor({name, t->dtype(), t->shape}, {{{0, 0}, t->shape, t->strides, 0, t->position, t->swapped}});
  }
  i32 values[6];
  for (const char* name : {"plain", "tagged"}) {
    store.read_range(store.at(name), 0, 6, reinterpret_cast<std::byte*>(values));
    EXPECT_EQ(std::vector<i32>(values, values + 6), (std::vector<i32>{256, 257, 258, 259, 260, 261})) << name;
  }
  store.read_range(store.at("turned"), 0, 6, reinterpret_cast<std::byte*>(values));
  EXPECT_EQ(std::vector<i32>(values, values + 6), (std::vector<i32>{256, 259, 257, 260, 258, 261}));
}

struct Place {
  Shape offset, shape;
};

// A tensor divided at random, half of the time with one part misplaced; compared with marking single elements.
TEST(BlockCopy, tiles) {
  std::mt19937 random(3);
  const auto below = [&](i64 n) { return i64(random() % std::size_t(n)); };
  int whole_ones = 0, others = 0;
  for (int n = 0; n < 5000; ++n) {
    const Shape whole = {2, 1 + below(4), 1, 4};
    std::vector<Place> boxes = {{Shape(4, 0), whole}};
    for (int cuts = 1 + int(below(5)); cuts > 0; --cuts) {
      Place& a = boxes[std::size_t(below(i64(boxes.size())))];
      const std::size_t d = std::size_t(below(4));
      if (a.shape[d] < 2) continue;
      const i64 first = 1 + below(a.shape[d] - 1);
      Place rest = a;
      rest.offset[d] += first, rest.shape[d] -= first, a.shape[d] = first;
      boxes.push_back(rest);
    }
    if (random() % 2) boxes[std::size_t(below(i64(boxes.size())))] = boxes[std::size_t(below(i64(boxes.size())))];
    std::vector<int> seen(std::size_t(count(whole)));
    for (const Place& b : boxes)
      for_runs(whole, b.offset, b.shape, [&](i64 begin, i64 length) {
        for (i64 i = begin; i < begin + length; ++i) ++seen[std::size_t(i)];
      });
    const bool once = std::ranges::all_of(seen, [](int times) { return times == 1; });
    ASSERT_EQ(tiles(whole, boxes), once) << n;
    ++(once ? whole_ones : others);
  }
  EXPECT_GT(whole_ones, 500);
  EXPECT_GT(others, 500);
  EXPECT_TRUE(tiles(Shape{}, std::vector<Place>(1)));
  EXPECT_FALSE(tiles(Shape{}, std::vector<Place>(2)));
}

// The largest number that a file may claim: 129 times 2^57 is 2^57 in 64 bits, and corners are met an odd number of
// times.
TEST(BlockCopy, tiles_of_more_than_can_be_counted) {
  const Shape whole = {i64{1} << 57};
  EXPECT_TRUE(tiles(whole, std::vector<Place>(1, {{0}, whole})));
  EXPECT_FALSE(tiles(whole, std::vector<Place>(129, {{0}, whole})));
}

// So many that comparing all pairs would take minutes.
TEST(BlockCopy, tiles_of_many_columns) {
  constexpr i64 kColumns = 100000;
  std::vector<Place> boxes;
  for (i64 i = 0; i < kColumns; ++i) boxes.push_back({{0, i}, {2, 1}});
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(tiles({2, kColumns}, boxes));
  boxes.back().offset[1] = 0;
  EXPECT_FALSE(tiles({2, kColumns}, boxes));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

// Ranges as boxes, and boxes as ranges, compared with counting.
TEST(BlockCopy, ranges_and_runs) {
  const Shape shape = {3, 4, 5};
  for (i64 begin = 0; begin < 60; ++begin)
    for (i64 n = 0; begin + n <= 60; ++n) {
      std::vector<i64> seen;
      int boxes = 0;
      for_boxes(shape, begin, n, [&](const Shape& offset, const Shape& box) {
        ++boxes;
        for (i64 a = 0; a < box[0]; ++a)
          for (i64 b = 0; b < box[1]; ++b)
            for (i64 c = 0; c < box[2]; ++c) seen.push_back(((offset[0] + a) * 4 + offset[1] + b) * 5 + offset[2] + c);
      });
      std::vector<i64> expected(static_cast<std::size_t>(n));
      std::iota(expected.begin(), expected.end(), begin);
      ASSERT_EQ(seen, expected) << begin << " " << n;
      ASSERT_LE(boxes, 5);
    }
  std::vector<std::pair<i64, i64>> runs;
  for_runs(shape, {1, 0, 0}, {2, 4, 5}, [&](i64 first, i64 n) { runs.emplace_back(first, n); });
  EXPECT_EQ(runs, (std::vector<std::pair<i64, i64>>{{20, 40}}));
  runs.clear();
  for_runs(shape, {0, 1, 2}, {2, 2, 3}, [&](i64 first, i64 n) { runs.emplace_back(first, n); });
  EXPECT_EQ(runs, (std::vector<std::pair<i64, i64>>{{7, 3}, {12, 3}, {27, 3}, {32, 3}}));
}

}  // namespace
}  // namespace megalith
