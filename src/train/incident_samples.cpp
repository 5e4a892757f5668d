#include "train/incident_samples.h"

namespace megalith {

std::vector<SampleRead> samples_read(const Dataset& dataset, const LoaderConfig& config, i64 micro_batches) {
  std::vector<SampleRead> out;
  for (i64 rank = 0; rank < config.data_parallel_size; ++rank) {
    LoaderConfig c = config;
    c.data_parallel_rank = rank;
    const std::unique_ptr<Sampler> sampler = sampler_of(dataset, c);
    for (i64 m = 0; m < micro_batches; ++m) {
      const i64 first = sampler->consumed_samples() + rank * c.micro_batch_size;
      const std::vector<i64> indices = sampler->next();
      for (i64 row = 0; row < i64(indices.size()); ++row) {
        SampleRead& s = out.emplace_back(SampleRead{rank, m, row, first + row, indices[size_t(row)]});
        if (s.index >= 0) s.documents = dataset.documents(s.index);
      }
    }
  }
  return out;
}

const DocumentPart* document_at(const SampleRead& sample, i64 position) {
  for (const DocumentPart& d : sample.documents)
    if (position >= d.position && position < d.position + d.tokens) return &d;
  return nullptr;
}

}  // namespace megalith
