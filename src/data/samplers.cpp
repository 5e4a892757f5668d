#include "data/samplers.h"

#include <numeric>

#include "base/check.h"
#include "data/npy.h"
#include "data/stored_array.h"
#include "data/torch_randperm.h"

namespace megalith {
namespace {

class SingleSampler : public Sampler {
 public:
  explicit SingleSampler(const SamplerConfig& config) : Sampler(config) {}

  std::vector<i64> draw() override {
    i64& consumed = config_.consumed_samples;
    check(consumed <= config_.total_samples - (config_.fills_last ? 1 : chunk()),
          "the dataset has {} samples, {} are consumed and {} more are needed: it was built for fewer steps; give more "
          "data "
          "or fewer steps",
          config_.total_samples, consumed, chunk());
    std::vector<i64> indices(std::size_t(config_.micro_batch_size));
    std::iota(indices.begin(), indices.end(), consumed + config_.data_parallel_rank * config_.micro_batch_size);
    for (i64& i : indices)
      if (i >= config_.total_samples) i = -1;
    consumed += chunk();
    return indices;
  }
};

// Reads sample indices from a .npy file instead of 0, 1, 2, ...
class ExternalSampler : public SingleSampler {
 public:
  explicit ExternalSampler(const SamplerConfig& config)
      : SingleSampler(with_total(config, open(config.order_file).size())),
        order_(open(config.order_file)),
        samples_(config.total_samples) {}

  std::vector<i64> draw() override {
    std::vector<i64> indices = SingleSampler::draw();
    for (i64& i : indices) {
      const i64 sample = order_[i];
      check(sample >= 0 && sample < samples_,
            "--data-order-file {}: entry {} is sample {}, but the training set has {} samples", config_.order_file, i,
            sample, samples_);
      i = sample;
    }
    return indices;
  }

 private:
  static SamplerConfig with_total(SamplerConfig config, i64 total) {
    config.total_samples = total;
    return config;
  }
  static StoredArray<i64> open(const std::string& path) {
    const i64 header = i64(npy_header({"<i8", 0, 0}).size()), bytes = MappedFile(path).size();
    const NpyArray array{"<i8", (bytes - header) / i64(sizeof(i64)), 0};
    const auto file = map_npy(path, array);
    check(file && array.rows > 0,
          "--data-order-file {}: want a .npy file of one dimension of int64 with at least one number (numpy.save)",
          path);
    return {file, header};
  }

  StoredArray<i64> order_;
  i64 samples_;
};

class CyclicSampler : public Sampler {
 public:
  explicit CyclicSampler(const SamplerConfig& config) : Sampler(config) {
    check(chunk() <= config.total_samples,
          "the dataset has {} samples, less than the {} of one micro batch on {} ranks: give more data or smaller "
          "batches",
          config.total_samples, chunk(), config.data_parallel_size);
    active_ = config.total_samples / chunk() * chunk();
    check(config.consumed_samples % active_ % chunk() == 0,
          "{} consumed samples end inside a batch of {} (micro batch {} on {} ranks): keep the sizes of the saved run",
          config.consumed_samples, chunk(), config.micro_batch_size, config.data_parallel_size);
  }

  std::vector<i64> draw() override {
    const i64 epoch = config_.consumed_samples / active_, within = config_.consumed_samples % active_;
    if (epoch != epoch_) order_ = order_of(epoch), epoch_ = epoch;
    std::vector<i64> indices(std::size_t(config_.micro_batch_size));
    for (i64 row = 0; row < config_.micro_batch_size; ++row)
      indices[std::size_t(row)] = config_.data_sharding ? sharded(within, row) : unsharded(within, row);
    config_.consumed_samples += chunk();
    return indices;
  }

 private:
  // Sharded: a permutation of this rank's part. Unsharded: one of the whole dataset, whose entries go to the ranks in
  // turn.
  std::vector<i64> order_of(i64 epoch) const {
    const i64 per_rank = config_.total_samples / chunk() * config_.micro_batch_size;
    const i64 all = config_.total_samples / config_.micro_batch_size * config_.micro_batch_size;
    return torch_randperm(config_.data_sharding ? per_rank : all, u64(epoch));
  }
  i64 sharded(i64 within, i64 row) const {
    const i64 bucket = i64(order_.size());
    return config_.data_parallel_rank * bucket + order_[std::size_t(within / config_.data_parallel_size + row)];
  }
  i64 unsharded(i64 within, i64 row) const {
    return order_[std::size_t(within + row * config_.data_parallel_size + config_.data_parallel_rank)];
  }

  i64 active_ = 0, epoch_ = -1;
  std::vector<i64> order_;
};

}  // namespace

std::vector<i64> Sampler::next() {
  const i64 first = config_.consumed_samples + config_.data_parallel_rank * config_.micro_batch_size;
  std::vector<i64> indices = draw();
  if (config_.left_out)
    for (std::size_t row = 0; row < indices.size(); ++row)
      if (config_.left_out->contains(first + i64(row))) indices[row] = -1;
  return indices;
}

std::unique_ptr<Sampler> make_sampler(const SamplerConfig& config) {
  check(config.micro_batch_size > 0, "--micro-batch-size is {}: want 1 or more", config.micro_batch_size);
  check(config.data_parallel_rank >= 0 && config.data_parallel_rank < config.data_parallel_size,
        "data-parallel rank {} is not one of {}", config.data_parallel_rank, config.data_parallel_size);
  check(config.consumed_samples >= 0, "{} samples are consumed: want 0 or more", config.consumed_samples);
  check(config.total_samples > 0, "the dataset has no samples: give more data or a shorter --seq-length");
  if (config.type == SamplerType::external) return std::make_unique<ExternalSampler>(config);
  if (config.type == SamplerType::cyclic) return std::make_unique<CyclicSampler>(config);
  return std::make_unique<SingleSampler>(config);
}

}  // namespace megalith
