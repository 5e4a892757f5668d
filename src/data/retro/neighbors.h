// The neighbours of each chunk of each sample of a GPT's data, in the samples' order, as a file: i64 [samples x chunks
// of a sample, kept], the nearest first; -1: there are no more.
#pragma once
#include "data/gpt_dataset.h"
#include "data/retro/chunk_database.h"

namespace megalith {

struct NeighborSearch {
  const ChunkDatabase& database;
  i64 chunk_length = 64;
  i64 point_size = 512;  // of bag_sketch.h
  i64 keep = 20;
  bool same_corpus = true;  // the samples' documents are the database's: a sample has no neighbour of its own ones
};

// Writes the file. Threads share the work; the bytes do not depend on them.
void write_neighbors(const std::string& path, const GptDataset& samples, const NeighborSearch& search);

// What tells these samples from others: a digest of some of them, as hex digits.
std::string digest_of_samples(const Dataset& samples);

// A sample as a batch of one.
Batch one_sample(const Dataset& samples, i64 i);

}  // namespace megalith
