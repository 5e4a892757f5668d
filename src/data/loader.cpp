#include "data/loader.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace megalith {
namespace {

template <class T>
std::span<T> row_of(std::vector<T>& values, i64 row, i64 length) {
  return values.empty() ? std::span<T>{} : std::span(values).subspan(std::size_t(row * length), std::size_t(length));
}

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
          .fills_last = c.end.has_value()};
}

}  // namespace

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
  const auto elements = std::size_t(batch.sequences * batch.seq_length);
  std::vector<i64>& rows = batch.longs("rows");
  const auto ints = [&](const char* name) -> std::vector<i32>& {
    batch.ints(name).resize(elements);
    return batch.ints(name);
  };
  std::vector<i32>&tokens = ints("tokens"), &labels = ints("labels"), &position_ids = ints("position_ids");
  std::vector<float>& loss_mask = batch.floats("loss_mask");
  loss_mask.resize(elements);
  std::vector<i32> none, &starts = dataset_->has_document_starts() ? ints("document_starts") : none;
  for (i64 r = 0; r < batch.sequences; ++r) {
    const i64 length = batch.seq_length;
    rows.push_back(first + r);
    if (indices[std::size_t(r)] < 0) continue;  // zeros, none of which counts
    dataset_->get(indices[std::size_t(r)], {.tokens = row_of(tokens, r, length),
                                            .labels = row_of(labels, r, length),
                                            .loss_mask = row_of(loss_mask, r, length),
                                            .position_ids = row_of(position_ids, r, length),
                                            .document_starts = row_of(starts, r, length)});
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
  if (slot.error) std::rethrow_exception(slot.error);  // it stays there
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
          .num_workers = config.num_workers};
}

}  // namespace megalith
