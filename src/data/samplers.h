// The next samples of a data-parallel rank, computed from the number of samples that all ranks have consumed. There
// is no other state, so this number is enough to resume.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "data/sample_ranges.h"

namespace megalith {

enum class SamplerType : u8 { single, cyclic, external };

struct SamplerConfig {
  SamplerType type = SamplerType::single;
  i64 total_samples = 0;     // size of the dataset
  i64 consumed_samples = 0;  // by all ranks
  i64 micro_batch_size = 1;
  i64 data_parallel_rank = 0;
  i64 data_parallel_size = 1;
  bool data_sharding = true;                       // cyclic only: each rank has its own part of the dataset
  std::string order_file{};                        // external only: .npy of int64 sample indices
  std::shared_ptr<const SampleRanges> left_out{};  // samples that become -1; nullptr: none
  bool fills_last = false;  // single only: the last chunk may be incomplete; it is filled with -1
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  // The micro_batch_size indices of this rank's next micro-batch (-1: none). Advances by micro_batch_size *
  // data_parallel_size samples. Error if a single dataset is exhausted.
  std::vector<i64> next();

  i64 consumed_samples() const { return config_.consumed_samples; }
  const SamplerConfig& config() const { return config_; }

 protected:
  explicit Sampler(const SamplerConfig& config) : config_(config) {}
  // next() before left-out samples become -1.
  virtual std::vector<i64> draw() = 0;
  i64 chunk() const { return config_.micro_batch_size * config_.data_parallel_size; }

  SamplerConfig config_;
};

// single: samples in order, in chunks of all ranks' micro-batches; an incomplete last chunk is dropped or filled.
// cyclic: endless, with a new order for each epoch. external: like single, but with the indices of the order file,
// which may omit and repeat samples. Error if the sizes or the order file are invalid.
std::unique_ptr<Sampler> make_sampler(const SamplerConfig& config);

}  // namespace megalith
