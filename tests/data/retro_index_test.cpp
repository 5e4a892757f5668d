// Neighbours found with a faiss index, compared with the exact search. A build without faiss refuses each
// description.
#include <omp.h>

#include <filesystem>
#include <random>

#include "data/npy.h"
#include "data/retro/chunk_points.h"
#include "data/retro/neighbor_index.h"
#include "data/retro/neighbors.h"
#include "tests/data/data_test_util.h"
#include "tests/data/pair_corpus.h"
#include "tests/error_of.h"

namespace megalith {
namespace {

using namespace pair_corpus;

constexpr i64 kPointSize = 64, kKept = 3;

class RetroIndex : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_point_index().empty()) GTEST_SKIP() << "[  SKIPPED ] " << why_no_point_index();
  }

  // The neighbours with `description`, [chunks of the samples, kKept]; "": the exact search.
  std::vector<i64> found_by(const std::string& description, i64 probes = 1 << 16) const {
    const std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("retro-index-{}", getpid())).string();
    std::unique_ptr<PointIndex> index;
    if (!description.empty()) index = index_chunks(corpus_.database, plan_of({description, probes}));
    write_neighbors(path, corpus_.samples,
                    {.database = corpus_.database,
                     .chunk_length = kChunk,
                     .point_size = kPointSize,
                     .keep = kKept,
                     .index = index.get()});
    const NpyArray array{.descr = "<i8", .rows = corpus_.samples.size() * (kSeq / kChunk), .columns = kKept};
    const StoredArray<i64> all(map_npy(path, array), i64(npy_header(array).size()));
    std::vector<i64> out(all.all().begin(), all.all().end());
    std::filesystem::remove(path);
    return out;
  }

  static IndexPlan plan_of(const PointIndexConfig& config) {
    return {.config = config, .point_size = kPointSize, .chunk_length = kChunk};
  }

  std::string error_by(const std::string& description, double learn_seconds = 0) const {
    return error_of([&] {
      check_point_index(description, kPointSize);
      index_chunks(corpus_.database, plan_of({.description = description, .learn_seconds = learn_seconds}));
    });
  }

  // The fraction of the exact neighbours that are found.
  static double recall(const std::vector<i64>& exact, const std::vector<i64>& found) {
    i64 same = 0;
    for (std::size_t row = 0; row < exact.size(); row += kKept)
      for (std::size_t k = 0; k < kKept; ++k)
        same += std::count(found.begin() + std::ptrdiff_t(row), found.begin() + std::ptrdiff_t(row + kKept),
                           exact[row + k]);
    return double(same) / double(exact.size());
  }

  Corpus corpus_;
};

// At equal distances faiss may give another chunk at the end of its list.
TEST_F(RetroIndex, FlatAndAllListsFindTheExactNeighbors) {
  const std::vector<i64> exact = found_by("");
  ASSERT_GT(exact.size(), 300u);
  for (const char* index : {"Flat", "IVF16,Flat", "IVF16_HNSW8,Flat"})
    EXPECT_GE(recall(exact, found_by(index)), 0.995) << index;
}

TEST_F(RetroIndex, FewListsAndCodesFindMostOfThem) {
  const std::vector<i64> exact = found_by("");
  const double one = recall(exact, found_by("IVF16,Flat", 1)), four = recall(exact, found_by("IVF16,Flat", 4));
  EXPECT_GE(four, 0.6);
  EXPECT_LT(one, four);  // so faiss receives the number of probes
  EXPECT_GE(recall(exact, found_by("SQ8")), 0.95);
  EXPECT_GE(recall(exact, found_by("HNSW16")), 0.95);
  EXPECT_GE(recall(exact, found_by("PQ16x4")), 0.3);
}

// 500,000 moves of simulated annealing for each of 16 codes would take minutes.
TEST_F(RetroIndex, ProductsOfCodesLearnInSeconds) {
  const std::vector<i64> exact = found_by("");
  for (const char* index : {"PQ16", "OPQ16_32,IVF4_HNSW8,PQ16"})
    EXPECT_GE(recall(exact, found_by(index)), 0.3) << index;
}

// Enough points for training with all threads.
TEST_F(RetroIndex, BytesDoNotDependOnThreads) {
  std::mt19937 draw(3);
  std::vector<i16> points(kPointSize << 16);
  for (i16& number : points) number = i16(int(draw() % 33) - 16);
  const int threads = omp_get_max_threads();
  for (const char* index : {"IVF16_HNSW8,SQ8", "PQ4x4", "HNSW8"}) {
    const auto bytes_by = [&](int n) {
      omp_set_num_threads(n);
      const auto made = make_point_index({.description = index}, kPointSize, points);
      made->add(std::span(points).first(1000 * kPointSize));
      omp_set_num_threads(threads);
      return made->bytes();
    };
    const std::string one = bytes_by(1);
    for (const int n : {3, 3}) EXPECT_TRUE(one == bytes_by(n)) << index << " " << n;
  }
}

TEST_F(RetroIndex, BytesMakeTheSameIndex) {
  const PointIndexConfig config{.description = "IVF16_HNSW8,SQ8", .probes = 2};
  const std::unique_ptr<PointIndex> made = index_chunks(corpus_.database, plan_of(config)),
                                    read = read_point_index(config, kPointSize, made->bytes());
  const std::vector<i16> queries = points_of(corpus_.database, 0, 50, BagSketch(kPointSize, kChunk));
  for (std::size_t q = 0; q < 50; ++q) {
    const auto point = std::span(queries).subspan(q * kPointSize, kPointSize);
    EXPECT_EQ(made->near(point, 30), read->near(point, 30)) << q;
  }
  const std::string bytes = made->bytes();
  EXPECT_NE(error_of([&] {
              read_point_index(config, kPointSize, bytes.substr(0, bytes.size() / 2));
            }).find("--retro-index-str IVF16_HNSW8,SQ8: "),
            std::string::npos);
}

TEST_F(RetroIndex, RefusesWhatItDoesNotServeInOneLine) {
  for (const auto& [description, why] :
       {std::pair("", "supported are Flat"),
        {"LSQ8x8", "supported are Flat"},
        {"IVF16,Nothing", "supported are Flat"},
        {"NSG16,Flat", "supported are Flat"},
        {"IVF0,Flat", "it has 0, want 1 to"},
        {"IVF99999999999999999999,Flat", "it has 99999999999999999999, want 1 to"},
        {"HNSW1", "it has 1, want 2 to 512"},
        {"PQ8x16", "it has 16, want 1 to 8"},
        {"PQ7", "7 codes do not divide the point size 64"},
        {"OPQ8_24,PQ5", "5 codes do not divide the point size 24"},
        {"PCA65,Flat", "it has 65, want 1 to 64"},
        {"IVF100000,Flat", "its training needs 100000 points or more, and there are"}}) {
    const std::string error = error_by(description);
    EXPECT_NE(error.find(why), std::string::npos) << description << ": " << error;
    EXPECT_EQ(error.find("--retro-index-str "), 0u) << error;
  }
}

TEST_F(RetroIndex, LearningEndsWhenItsTimeIsOver) {
  const std::string error = error_by("IVF16,Flat", 1e-9);
  EXPECT_NE(error.find("its training takes more than"), std::string::npos) << error;
  EXPECT_EQ(error_by("IVF16,Flat", 600), "");  // and the next one is not affected
}

TEST(RetroWithoutFaiss, RefusesAnyIndexAndSaysWhatToInstall) {
  if (why_no_point_index().empty()) GTEST_SKIP() << "[  SKIPPED ] this build has faiss";
  for (const char* index : {"Flat", "Nothing"}) {
    const std::string error = error_of([&] { check_point_index(index, kPointSize); });
    EXPECT_EQ(error.find(fmt::format("--retro-index-str {}: this build has no faiss: install libfaiss-dev", index)), 0u)
        << error;
  }
}

}  // namespace
}  // namespace megalith
