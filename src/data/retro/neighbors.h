// The neighbours of each chunk of each sample of a GPT's data, in the samples' order, as a file: i64 [samples x chunks
// of a sample, kept], the nearest first; -1: there are no more.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "data/gpt_dataset.h"
#include "data/retro/chunk_database.h"
#include "data/retro/point_index.h"
#include "data/retro/point_products.h"

namespace megalith {

struct NeighborSearch {
  const ChunkDatabase& database;
  i64 chunk_length = 64;
  i64 point_size = 512;  // of bag_sketch.h
  i64 keep = 20;
  bool same_corpus = true;  // the samples' documents are the database's: a sample has no neighbour of its own ones
  PointProducts* products = nullptr;  // of a device; the bytes do not depend on it
  const PointIndex* index = nullptr;  // of the database's points; nullptr: the search is exact
};

// Ranks that share the samples out, each with the same data before it. All call, in the same order.
struct SearchRanks {
  int rank = 0, size = 1;
  // Each rank's bytes to rank 0, by rank; nothing on the others. Only called where there are several.
  std::function<std::vector<std::string>(const std::string& mine)> gather{};
};

// Rank 0 writes the file. Ranks and threads share the work; the bytes do not depend on them.
void write_neighbors(const std::string& path, const GptDataset& samples, const NeighborSearch& search,
                     const SearchRanks& ranks = {});

// What tells these samples from others: a digest of some of them, as hex digits.
std::string digest_of_samples(const Dataset& samples);

// A sample as a batch of one.
Batch one_sample(const Dataset& samples, i64 i);

}  // namespace megalith
