// The one way the trainer reads data: build_datasets() makes the sets, a DataLoader hands out micro batches of one of
// them.
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
  i64 consumed_samples = 0;  // by all ranks, as saved in the checkpoint
  i64 micro_batch_size = 1;
  i64 data_parallel_rank = 0;
  i64 data_parallel_size = 1;
  bool data_sharding = true;
  std::string order_file{};  // with the type external
  // single only: samples from this one on are not read; the last micro batch is filled with rows that do not count.
  std::optional<i64> end{};
  i64 num_workers = 1;  // threads that read batches ahead; 0: batches are read in next()
};

// The samples' numbers of such batches, in turn, without reading any.
std::unique_ptr<Sampler> sampler_of(const Dataset& dataset, const LoaderConfig& config);

// Worker threads take batches by number and read them, two for each worker ahead of the one that is handed out next;
// which thread reads a batch makes no difference to it.
class DataLoader final : public BatchSource {
 public:
  // Error if the dataset is missing (null) or empty, or the sizes do not fit it.
  DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderConfig& config);
  ~DataLoader() override;

  // The next micro batch. Error if a `single` dataset is used up or a sample holds a bad token, then and afterwards.
  // Not for several threads.
  Batch next() override;

  // Samples that all ranks have consumed, counting the batches handed out so far.
  i64 consumed_samples() const override { return consumed_; }
  i64 dataset_size() const { return dataset_->size(); }
  // How long next() has taken so far, in all: what the step waited for data.
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
  // Draws the numbers of the next batch; `first` is that of its first sample. Not by several threads at once.
  std::vector<i64> draw(i64& first);

  std::shared_ptr<const Dataset> dataset_;
  std::unique_ptr<Sampler> sampler_;
  i64 consumed_, chunk_;
  double seconds_waited_ = 0;

  std::mutex mutex_;  // of what follows, and of the sampler
  std::condition_variable wanted_, made_;
  std::vector<Slot> ahead_;    // batch n is in slot n modulo their number
  i64 begun_ = 0, taken_ = 0;  // batches that workers have begun, and that were handed out
  bool ends_ = false;
  std::vector<std::jthread> workers_;  // last, so the threads end before the members they use
};

// The loader's settings that the data's config holds; an order from outside is that of the training set only.
LoaderConfig loader_config(const DataConfig& config, Split split);

}  // namespace megalith
