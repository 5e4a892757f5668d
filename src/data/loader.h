// The trainer's data input: build_datasets() makes the datasets, and a DataLoader reads micro-batches of one of them.
#pragma once
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/batch.h"
#include "data/build_datasets.h"
#include "data/config.h"
#include "data/dataset.h"
#include "data/samplers.h"

namespace megalith {

struct LoaderConfig {
  SamplerType type = SamplerType::single;
  i64 consumed_samples = 0;  // on all ranks, from the checkpoint
  i64 micro_batch_size = 1;
  i64 data_parallel_rank = 0;
  i64 data_parallel_size = 1;
  bool data_sharding = true;
  std::string order_file{};                        // for the type external
  std::shared_ptr<const SampleRanges> left_out{};  // rows that do not count; nullptr: none
  // single only: the first sample that is not read. The last micro-batch is filled with rows that do not count.
  std::optional<i64> end{};
  i64 num_workers = 1;  // threads that read batches ahead; 0: next() reads them
};

// Gives the sample indices of the same batches, without reading them.
std::unique_ptr<Sampler> sampler_of(const Dataset& dataset, const LoaderConfig& config);

// Worker threads take batches in order and read two ahead each. A batch does not depend on the thread that reads it.
class DataLoader final : public BatchSource {
 public:
  // Error if the dataset is null or empty, or if the sizes do not fit it.
  DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderConfig& config);
  ~DataLoader() override;

  // The next micro-batch. Error if a `single` dataset is exhausted or a sample has an invalid token; later calls fail
  // too. Not thread-safe.
  Batch next() override;

  // Number of samples that all ranks have consumed, including the last returned batch.
  i64 consumed_samples() const override { return consumed_; }
  i64 dataset_size() const { return dataset_->size(); }
  // Total time in next(): how long steps waited for data.
  double seconds_waited() const override { return seconds_waited_; }

 private:
  struct Slot {
    bool ready = false;
    Batch batch;
    std::exception_ptr error;
  };

  Batch take();
  Batch read(i64 first, const std::vector<i64>& indices) const;
  void work();
  // Draws the indices of the next batch; `first`: the position of its first sample. Needs the mutex.
  std::vector<i64> draw(i64& first);

  std::shared_ptr<const Dataset> dataset_;
  std::unique_ptr<Sampler> sampler_;
  i64 consumed_, chunk_;
  double seconds_waited_ = 0;

  std::mutex mutex_;  // for all members below, and for the sampler
  std::condition_variable wanted_, made_;
  std::vector<Slot> ahead_;    // batch n is in slot n % size
  i64 begun_ = 0, taken_ = 0;  // number of batches that workers have started, and that next() has returned
  bool ends_ = false;
  std::vector<std::jthread> workers_;  // last, so that the threads end before the other members
};

// Loader settings from the data's config. An external order is used for the training set only.
LoaderConfig loader_config(const DataConfig& config, Split split);

}  // namespace megalith
