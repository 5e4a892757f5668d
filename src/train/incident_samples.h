// The samples of an iteration, each with its position in the step and its documents.
#pragma once
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"

namespace megalith {

struct SampleRead {
  i64 data_parallel_rank = 0, micro_batch = 0, row = 0;
  i64 sample = 0;  // number of samples consumed before it
  i64 index = -1;  // in the dataset; -1: a row that pads the last batch
  std::vector<DocumentPart> documents{};
};

// The samples of all data-parallel ranks, in rank order. `config`: of one rank, from the iteration's first sample on.
std::vector<SampleRead> samples_read(const Dataset& dataset, const LoaderConfig& config, i64 micro_batches);

// The document at a position of the sample. nullptr if unknown.
const DocumentPart* document_at(const SampleRead& sample, i64 position);

}  // namespace megalith
