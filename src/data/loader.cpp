#include "data/loader.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace megalith {
namespace {

SamplerConfig sampler_config(const Dataset* dataset, const LoaderConfig& c) {
  check(dataset != nullptr, "there is no data to read: the split has weight zero or no samples were asked for");
  return {.type = c.type,
          .total_samples = std::min(dataset->size(), c.end.value_or(dataset->size())),
          .consumed_samples = c.consumed_samples,
          .micro_batch_size = c.micro_batch_size,
          .data_parallel_rank = c.data_parallel_rank,
          .data_parallel_size = c.data_parallel_size,
          .data_sharding = c.data_sharding,
          .order_file = c.order_file,
          .left_out = c.left_out,
          .fills_last = c.end.has_value()};
}

}  // namespace

std::unique_ptr<Sampler> sampler_of(const Dataset& dataset, const LoaderConfig& config) {
  return make_sampler(sampler_config(&dataset, config));
}

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderConfig& config)
    : dataset_(std::move(dataset)),
      sampler_(make_sampler(sampler_config(dataset_.get(), config))),
      consumed_(config.consumed_samples),
      chunk_(config.micro_batch_size * config.data_parallel_size),
      ahead_(std::size_t(2 * config.num_workers)) {
  for (i64 w = 0; w < config.num_workers; ++w) workers_.emplace_back([this] { work(); });
}

DataLoader::~DataLoader() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  wanted_.notify_all();
}

std::vector<i64> DataLoader::draw(i64& first) {
  const SamplerConfig& c = sampler_->config();
  first = c.consumed_samples + c.data_parallel_rank * c.micro_batch_size;
  return sampler_->next();
}

Batch DataLoader::read(i64 first, const std::vector<i64>& indices) const {
  Batch batch;
  batch.sequences = i64(indices.size()), batch.seq_length = dataset_->seq_length();
  for (const SampleArray& array : dataset_->arrays()) batch.arrays[array.name] = empty_array(array, batch.sequences);
  std::vector<i64>& rows = batch.longs("rows");
  for (i64 r = 0; r < batch.sequences; ++r) {
    rows.push_back(first + r);
    if (indices[std::size_t(r)] < 0) continue;  // the row stays zero and does not count
    dataset_->get(indices[std::size_t(r)], SampleRow(batch, r));
  }
  return batch;
}

void DataLoader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [&] { return ends_ || begun_ - taken_ < i64(ahead_.size()); });
    if (ends_) return;
    Slot made;
    Slot& slot = ahead_[std::size_t(begun_++) % ahead_.size()];
    try {
      i64 first;
      const std::vector<i64> indices = draw(first);
      lock.unlock();
      made.batch = read(first, indices);
    } catch (...) {
      made.error = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    slot = std::move(made), slot.ready = true;
    made_.notify_one();
  }
}

Batch DataLoader::take() {
  if (ahead_.empty()) {
    i64 first;
    const std::vector<i64> indices = draw(first);
    return read(first, indices);
  }
  std::unique_lock lock(mutex_);
  Slot& slot = ahead_[std::size_t(taken_) % ahead_.size()];
  made_.wait(lock, [&] { return slot.ready; });
  if (slot.error) std::rethrow_exception(slot.error);  // later calls throw again
  ++taken_, slot.ready = false;
  wanted_.notify_one();
  return std::move(slot.batch);
}

Batch DataLoader::next() {
  const auto began = std::chrono::steady_clock::now();
  Batch batch = take();
  seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  consumed_ += chunk_;
  return batch;
}

LoaderConfig loader_config(const DataConfig& config, Split split) {
  const bool in_order = config.dataloader_type == SamplerType::external && split != Split::train;
  return {.type = in_order ? SamplerType::single : config.dataloader_type,
          .data_sharding = config.data_sharding,
          .order_file = in_order ? "" : config.data_order_file,
          .left_out = split == Split::train ? config.left_out : nullptr,
          .num_workers = config.num_workers};
}

}  // namespace megalith
