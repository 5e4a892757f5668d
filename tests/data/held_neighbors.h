// Compares the neighbour files made with a device's products with those of integer products on the CPU.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "data/retro/neighbors.h"
#include "tests/data/pair_corpus.h"

namespace megalith {

// Counts the products of a wrapped PointProducts.
class CountedCalls final : public PointProducts {
 public:
  explicit CountedCalls(PointProducts& of) : of_(of) {}
  i64 most_queries() const override { return of_.most_queries(); }
  i64 most_points() const override { return of_.most_points(); }
  void set_points(std::span<const i16> points) override { of_.set_points(points); }
  std::span<const float> multiply(std::span<const i16> queries) override {
    ++calls;
    return of_.multiply(queries);
  }
  int calls = 0;

 private:
  PointProducts& of_;
};

// For points of `size` numbers, which `products` multiplies.
inline void hold_neighbors(PointProducts& products, i64 size) {
  const pair_corpus::Corpus c;
  CountedCalls counted(products);
  const auto file_by = [&](PointProducts* by, const char* name) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("neighbors-" + std::string(name) + std::to_string(getpid()));
    write_neighbors(path, c.samples,
                    {.database = c.database, .chunk_length = pair_corpus::kChunk, .point_size = size, .products = by});
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::filesystem::remove(path);
    return bytes;
  };
  const std::string by_cpu = file_by(nullptr, "cpu"), by_device = file_by(&counted, "device");
  EXPECT_GT(by_cpu.size(), 128u);  // more than the header
  EXPECT_TRUE(by_cpu == by_device) << size;
  const i64 queries = c.samples.size() * (pair_corpus::kSeq / pair_corpus::kChunk);
  const auto blocks = [](i64 n, i64 most) { return (n + most - 1) / most; };
  EXPECT_EQ(counted.calls,
            blocks(queries, products.most_queries()) * blocks(c.database.size(), products.most_points()));
}

}  // namespace megalith
