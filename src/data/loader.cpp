#include "data/loader.h"

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
          .total_samples = dataset->size(),
          .consumed_samples = c.consumed_samples,
          .micro_batch_size = c.micro_batch_size,
          .data_parallel_rank = c.data_parallel_rank,
          .data_parallel_size = c.data_parallel_size,
          .data_sharding = c.data_sharding};
}

}  // namespace

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderConfig& config)
    : dataset_(std::move(dataset)),
      sampler_(make_sampler(sampler_config(dataset_.get(), config))),
      consumed_(config.consumed_samples),
      chunk_(config.micro_batch_size * config.data_parallel_size),
      read_ahead_(config.read_ahead) {}

Batch DataLoader::read() {
  const SamplerConfig& c = sampler_->config();
  const i64 first = c.consumed_samples + c.data_parallel_rank * c.micro_batch_size;
  const std::vector<i64> indices = sampler_->next();
  Batch batch;
  batch.sequences = i64(indices.size()), batch.seq_length = dataset_->seq_length();
  const auto elements = std::size_t(batch.sequences * batch.seq_length);
  batch.tokens.resize(elements), batch.labels.resize(elements);
  batch.loss_mask.resize(elements), batch.position_ids.resize(elements);
  if (dataset_->has_document_starts()) batch.document_starts.resize(elements);
  for (i64 r = 0; r < batch.sequences; ++r) {
    const i64 length = batch.seq_length;
    dataset_->get(indices[std::size_t(r)], {.tokens = row_of(batch.tokens, r, length),
                                            .labels = row_of(batch.labels, r, length),
                                            .loss_mask = row_of(batch.loss_mask, r, length),
                                            .position_ids = row_of(batch.position_ids, r, length),
                                            .document_starts = row_of(batch.document_starts, r, length)});
    batch.sample_numbers.push_back(first + r);
  }
  return batch;
}

Batch DataLoader::next() {
  Batch batch = ahead_.valid() ? ahead_.get() : read();
  consumed_ += chunk_;
  if (read_ahead_) ahead_ = std::async(std::launch::async, [this] { return read(); });
  return batch;
}

LoaderConfig loader_config(const DataConfig& config) {
  return {.type = config.dataloader_type, .data_sharding = config.data_sharding, .read_ahead = config.num_workers > 0};
}

}  // namespace megalith
