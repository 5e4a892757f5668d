// The samples of a RETRO model: those of a GPT, and the tokens of each chunk's neighbours.
//   neighbor_tokens  i32 [chunks, neighbors, tokens]; padded at the end of a neighbour
#pragma once
#include "data/build_datasets.h"
#include "data/retro/chunk_database.h"

namespace megalith {

struct RetroSampleOptions {
  std::string project_dir;
  // neighbors, retrieved_chunks: as many as the model reads.
  i64 chunk_length = 64, neighbors = 2, retrieved_chunks = 2;
  i32 pad = 0;
};

class RetroDataset final : public Dataset {
 public:
  // `found`: neighbour chunks in the database, `kept` for each chunk of each sample.
  RetroDataset(std::shared_ptr<const Dataset> samples, std::shared_ptr<const ChunkDatabase> database,
               StoredArray<i64> found, i64 kept, RetroSampleOptions options);

  i64 size() const override { return samples_->size(); }
  i64 seq_length() const override { return samples_->seq_length(); }
  std::vector<SampleArray> arrays() const override;
  void get(i64 i, const SampleRow& row) const override;
  std::vector<DatasetUse> use(i64 samples) const override { return samples_->use(samples); }

 private:
  i64 chunks() const { return seq_length() / options_.chunk_length; }
  i64 retrieved() const { return options_.retrieved_chunks * options_.chunk_length; }

  std::shared_ptr<const Dataset> samples_;
  std::shared_ptr<const ChunkDatabase> database_;
  StoredArray<i64> found_;
  i64 kept_;
  RetroSampleOptions options_;
};

// Adds neighbours to the datasets. Error, with the remedy, if the project was made for other samples.
Datasets with_neighbors(Datasets sets, const RetroSampleOptions& options);

}  // namespace megalith
