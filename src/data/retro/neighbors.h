// Writes the neighbours of each chunk of each sample of a GPT dataset, in the samples' order. The file is i64 [samples
// x chunks of a sample, kept], nearest first; -1: there are no more.
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
  // Samples and database have the same documents, so neighbours from a sample's own documents are excluded.
  bool same_corpus = true;
  PointProducts* products = nullptr;  // of a device; does not change the result
  const PointIndex* index = nullptr;  // an index of the database's points; nullptr: exact search
};

// Ranks that divide the samples. All have the same data, and all make the same calls in the same order.
struct SearchRanks {
  int rank = 0, size = 1;
  // Gathers each rank's bytes on rank 0, in rank order; empty on the others. Only called if there are several ranks.
  std::function<std::vector<std::string>(const std::string& mine)> gather{};
};

// Rank 0 writes the file. The result does not depend on the number of ranks or threads.
void write_neighbors(const std::string& path, const GptDataset& samples, const NeighborSearch& search,
                     const SearchRanks& ranks = {});

// Identifies these samples: a digest of some of them, as hex digits.
std::string digest_of_samples(const Dataset& samples);

// A batch with one sample.
Batch one_sample(const Dataset& samples, i64 i);

}  // namespace megalith
