// Chunks, points, exact search and neighbours of a corpus of document pairs.
#include "data/retro/retro_dataset.h"

#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "data/npy.h"
#include "data/retro/bag_sketch.h"
#include "data/retro/nearest.h"
#include "data/retro/neighbors.h"
#include "tests/data/data_test_util.h"
#include "tests/data/pair_corpus.h"

namespace megalith {
namespace {

using namespace pair_corpus;

std::vector<i64> found_in(const std::string& path, const NpyArray& array) {
  const auto file = map_npy(path, array);
  EXPECT_NE(file, nullptr) << path;
  const StoredArray<i64> all(file, i64(npy_header(array).size()));
  return {all.all().begin(), all.all().end()};
}

std::string place_of(const char* name) {
  return (std::filesystem::temp_directory_path() / fmt::format("{}-{}", name, getpid())).string();
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST(Retro, chunks_never_span_documents) {
  const Corpus c;
  i64 at = 0;
  for (i64 d = 0; d < c.source->sequences(); ++d)
    for (i64 first = 0; first < c.source->length(d) - 1; first += kChunk, ++at) {
      EXPECT_EQ(c.database.document(at), d);
      EXPECT_EQ(c.database.first(at), first);
      EXPECT_EQ(c.database.end(at), std::min(first + kChunk, c.source->length(d) - 1));
    }
  EXPECT_EQ(c.database.size(), at);
}

TEST(Retro, a_neighbor_goes_on_in_its_document_and_then_pads) {
  const Corpus c;
  std::vector<i32> whole(std::size_t(c.source->length(0) - 1)), out(2 * kChunk);
  c.source->read(0, 0, whole);
  c.database.read(0, 2, kRetroEod, out);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), whole.begin()));
  i64 last = 0;
  while (c.database.document(last + 1) == 0) ++last;
  c.database.read(last, 2, kRetroEod, out);
  const auto length = std::ptrdiff_t(c.database.end(last) - c.database.first(last));
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + length, whole.end() - length));
  EXPECT_EQ(std::count(out.begin() + length, out.end(), kRetroEod), 2 * kChunk - length);
}

// Points are integers, so distances in f64 are exact.
TEST(Retro, nearest_points_are_those_of_brute_force) {
  const BagSketch sketch(128, kChunk);
  std::mt19937 draw(7);
  const auto points = [&](i64 n) {
    std::vector<i16> out(std::size_t(n * sketch.size()));
    for (i64 i = 0; i < n; ++i) {
      std::vector<i32> tokens;
      for (i64 t = 0; t < kChunk; ++t) tokens.push_back(i32(draw() % 20));
      sketch.make(tokens, std::span(out).subspan(std::size_t(i * 128), 128));
    }
    return out;
  };
  const std::vector<i16> queries = points(9), all = points(700);
  const auto may = [](i64 query, i64 point) { return (query + point) % 5 != 0; };
  NearestPoints nearest(queries, 128, 6);
  nearest.add(std::span(all).first(300 * 128), 0, may);
  nearest.add(std::span(all).subspan(300 * 128), 300, may);
  for (i64 q = 0; q < 9; ++q) {
    std::vector<std::pair<double, i64>> brute;
    for (i64 p = 0; p < 700; ++p) {
      double distance = 0;
      for (i64 i = 0; i < 128; ++i) {
        const double apart = double(queries[std::size_t(q * 128 + i)]) - double(all[std::size_t(p * 128 + i)]);
        distance += apart * apart;
      }
      if (may(q, p)) brute.emplace_back(distance, p);
    }
    std::ranges::sort(brute);
    ASSERT_EQ(nearest.of(q).size(), 6u);
    for (std::size_t k = 0; k < 6; ++k) {
      EXPECT_EQ(nearest.of(q)[k].point, brute[k].second);
      EXPECT_EQ(double(nearest.of(q)[k].distance), brute[k].first);
    }
  }
}

// A device with blocks of 5 queries and 64 points, which counts its calls. Columns after the last point are wrong.
class CountedProducts : public PointProducts {
 public:
  explicit CountedProducts(i64 size) : size_(size) {}
  i64 most_queries() const override { return 5; }
  i64 most_points() const override { return 64; }
  void set_points(std::span<const i16> points) override {
    EXPECT_LE(i64(points.size()), 64 * size_);
    points_.assign(points.begin(), points.end());
  }
  std::span<const float> multiply(std::span<const i16> queries) override {
    ++calls;
    EXPECT_LE(i64(queries.size()), 5 * size_);
    out_.assign(5 * 64, 1e6f);
    const auto row = [&](std::span<const i16> of, std::size_t i) {
      return of.subspan(i * std::size_t(size_), std::size_t(size_));
    };
    for (std::size_t q = 0; q < queries.size() / std::size_t(size_); ++q)
      for (std::size_t p = 0; p < points_.size() / std::size_t(size_); ++p)
        out_[q * 64 + p] = float(dot(row(queries, q), row(points_, p)));
    return out_;
  }
  int calls = 0;

 private:
  const i64 size_;
  std::vector<i16> points_;
  std::vector<float> out_;
};

// 8 of 12 numbers of a point are 0, so many distances are equal: the first point must win both ways.
TEST(Retro, a_device_finds_the_same_points_and_is_left_out_where_it_would_round) {
  std::mt19937 draw(11);
  const auto points = [&](i64 n, int largest) {
    std::vector<i16> out(std::size_t(n * 12));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = i16(i % 3 == 0 ? int(draw() % unsigned(2 * largest + 1)) - largest : 0);
    return out;
  };
  const auto may = [](i64 query, i64 point) { return (query + point) % 7 != 0; };
  for (const auto& [largest, calls] : {std::pair(2, 3 * 5), {300, 0}}) {  // 12 queries, 300 = 4 * 64 + 44 points
    const std::vector<i16> queries = points(12, largest), all = points(300, largest);
    CountedProducts device(12);
    NearestPoints by_cpu(queries, 12, 9), by_device(queries, 12, 9, &device);
    for (NearestPoints* nearest : {&by_cpu, &by_device}) nearest->add(all, 0, may);
    EXPECT_EQ(device.calls, calls) << largest;
    for (i64 q = 0; q < 12; ++q) EXPECT_EQ(by_cpu.of(q), by_device.of(q)) << q;
  }
}

TEST(Retro, products_are_exact_up_to_whole_numbers_of_bf16_and_f32) {
  EXPECT_EQ(largest_of(std::vector<i16>{3, -32768, 7}), 32768);
  EXPECT_TRUE(has_exact_products(512, 64, 64));
  EXPECT_TRUE(has_exact_products(255, 256, 256));
  EXPECT_FALSE(has_exact_products(256, 256, 256));  // a sum may be 2^24
  EXPECT_FALSE(has_exact_products(1, 257, 1));      // bf16 has 256 and 258
  EXPECT_FALSE(has_exact_products(1, 1, 257));
}

TEST(Retro, a_sample_knows_its_documents) {
  const Corpus c;
  for (i64 i = 0; i < c.samples.size(); ++i) {
    std::vector<i32> text;  // documents of the sample in order, however it is cut
    const Batch sample = one_sample(c.samples, i);
    const std::vector<i64> documents = c.samples.sequences(i);
    for (i64 t = 0; t + 5 <= kSeq; t += 5) {  // each run of tokens is inside one of them, or crosses an end
      const std::vector<i32> run(sample.ints("tokens").begin() + t, sample.ints("tokens").begin() + t + 5);
      if (std::ranges::count(run, kRetroEod) > 0) continue;
      EXPECT_TRUE(std::ranges::any_of(documents, [&](i64 d) {
        std::vector<i32> all(std::size_t(c.source->length(d)));
        c.source->read(d, 0, all);
        return !std::ranges::search(all, run).empty();
      })) << i;
    }
  }
}

TEST(Retro, the_twin_is_nearest_and_own_documents_are_never_there) {
  const Corpus c;
  const std::string path = place_of("twin");
  const i64 keep = 3, chunks = kSeq / kChunk;
  write_neighbors(path, c.samples, {.database = c.database, .chunk_length = kChunk, .keep = keep});
  const std::vector<i64> found = found_in(path, {.descr = "<i8", .rows = c.samples.size() * chunks, .columns = keep});
  i64 twins = 0;
  for (i64 i = 0; i < c.samples.size(); ++i) {
    const std::vector<i64> own = c.samples.sequences(i);
    for (i64 n = 0; n < chunks; ++n) {
      bool is_twin = false;
      for (i64 k = 0; k < keep; ++k) {
        const i64 document = c.database.document(found[std::size_t((i * chunks + n) * keep + k)]);
        EXPECT_EQ(std::ranges::count(own, document), 0) << i;
        is_twin |= k == 0 && std::ranges::count(own, document ^ 1) > 0;
      }
      // If both documents of a pair are in one sample, it has no neighbours.
      const bool has = std::ranges::any_of(own, [&](i64 d) { return std::ranges::count(own, d ^ 1) == 0; });
      twins += is_twin || !has;
    }
  }
  EXPECT_GE(double(twins), 0.95 * double(c.samples.size() * chunks));
  std::filesystem::remove(path);
}

TEST(Retro, bytes_do_not_depend_on_threads) {
  const Corpus c;
  const int threads = omp_get_max_threads();
  std::set<std::string> files;
  for (const int n : {1, 2, 2}) {
    omp_set_num_threads(n);
    const std::string path = place_of("threads");
    write_neighbors(path, c.samples, {.database = c.database, .chunk_length = kChunk, .point_size = 64, .keep = 2});
    files.insert(bytes_of(path));
    std::filesystem::remove(path);
  }
  omp_set_num_threads(threads);
  EXPECT_EQ(files.size(), 1u);
}

// Three ranks, one after the other: the messages of the first two exist when rank 0 gathers.
TEST(Retro, bytes_do_not_depend_on_ranks) {
  const Corpus c;
  const NeighborSearch search{.database = c.database, .chunk_length = kChunk, .point_size = 64, .keep = 2};
  const std::string alone = place_of("alone"), shared = place_of("shared");
  write_neighbors(alone, c.samples, search);
  std::vector<std::string> sent(3);
  for (const int rank : {2, 1, 0}) {
    const auto gather = [&](const std::string& mine) {
      EXPECT_TRUE(sent[std::size_t(rank)].empty());
      sent[std::size_t(rank)] = mine;
      return rank == 0 ? sent : std::vector<std::string>{};
    };
    write_neighbors(shared, c.samples, search, {.rank = rank, .size = 3, .gather = gather});
    EXPECT_EQ(std::filesystem::exists(shared), rank == 0);
  }
  for (const std::string& part : sent) EXPECT_LT(part.size(), std::filesystem::file_size(alone) / 2);
  EXPECT_EQ(bytes_of(alone), bytes_of(shared));
  for (const std::string& path : {alone, shared}) std::filesystem::remove(path);
}

TEST(Retro, samples_have_their_neighbors_tokens) {
  const Corpus c;
  const i64 chunks = kSeq / kChunk;
  std::vector<i64> found(std::size_t(c.samples.size() * chunks * 3));
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = i64(i) % 7 == 6 ? -1 : i64(i) % c.database.size();
  const RetroDataset data(std::make_shared<GptDataset>(c.samples), std::make_shared<ChunkDatabase>(c.database), found,
                          3, {.project_dir = "x", .chunk_length = kChunk, .neighbors = 2, .pad = kRetroEod});
  const Batch sample = one_sample(data, 5);
  EXPECT_EQ(sample.ints("tokens"), one_sample(c.samples, 5).ints("tokens"));
  const std::vector<i32>& tokens = sample.ints("neighbor_tokens");
  ASSERT_EQ(i64(tokens.size()), chunks * 2 * 2 * kChunk);
  for (i64 n = 0; n < chunks; ++n)
    for (i64 k = 0; k < 2; ++k) {
      std::vector<i32> want(2 * kChunk, kRetroEod);
      const i64 chunk = found[std::size_t((5 * chunks + n) * 3 + k)];
      if (chunk >= 0) c.database.read(chunk, 2, kRetroEod, want);
      EXPECT_TRUE(std::equal(want.begin(), want.end(), tokens.begin() + (n * 2 + k) * 2 * kChunk)) << n << " " << k;
    }
}

}  // namespace megalith
