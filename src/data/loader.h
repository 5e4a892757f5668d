// The one way the trainer reads data: build_datasets() makes the sets, a DataLoader hands out micro batches of one of
// them.
#pragma once
#include <future>
#include <memory>
#include <vector>

#include "data/build_datasets.h"
#include "data/config.h"
#include "data/dataset.h"
#include "data/samplers.h"

namespace megalith {

// A micro batch of one data-parallel rank. All arrays but sample_numbers are row-major [sequences, seq_length].
struct Batch {
  i64 sequences = 0, seq_length = 0;
  std::vector<i32> tokens, labels;  // ids; where loss_mask is 0 a label may be meaningless
  std::vector<float> loss_mask;     // 1: this position counts in the loss
  std::vector<i32> position_ids;
  std::vector<i64> sample_numbers;   // [sequences]: how many samples all ranks had consumed before this one
  std::vector<i32> document_starts;  // first position of each position's document; empty without reset_attention_mask
};

struct LoaderConfig {
  SamplerType type = SamplerType::single;
  i64 consumed_samples = 0;  // by all ranks, as saved in the checkpoint
  i64 micro_batch_size = 1;
  i64 data_parallel_rank = 0;
  i64 data_parallel_size = 1;
  bool data_sharding = true;
  bool read_ahead = true;  // the next batch is made on another thread
};

class DataLoader {
 public:
  // Error if the dataset is missing (null) or empty, or the sizes do not fit it.
  DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderConfig& config);

  // The next micro batch. Error if a `single` dataset is used up or a sample holds a bad token. Not for several
  // threads.
  Batch next();

  // Samples that all ranks have consumed, counting the batches handed out so far.
  i64 consumed_samples() const { return consumed_; }
  i64 dataset_size() const { return dataset_->size(); }

 private:
  Batch read();

  std::shared_ptr<const Dataset> dataset_;
  std::unique_ptr<Sampler> sampler_;
  i64 consumed_, chunk_;
  bool read_ahead_;
  std::future<Batch> ahead_;  // last, so that it ends before what it uses
};

// The loader's settings that the data's config holds.
LoaderConfig loader_config(const DataConfig& config);

}  // namespace megalith
