// What an iteration read: each sample with its place in the step and the documents that it is cut from.
#pragma once
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"

namespace megalith {

struct SampleRead {
  i64 data_parallel_rank = 0, micro_batch = 0, row = 0;
  i64 sample = 0;  // how many samples were consumed before it
  i64 index = -1;  // in the dataset; -1: a row that fills the last batch
  std::vector<DocumentPart> documents{};
};

// Of all data-parallel ranks, in their order. `config`: of one rank, from the iteration's first sample on.
std::vector<SampleRead> samples_read(const Dataset& dataset, const LoaderConfig& config, i64 micro_batches);

// The document that holds a position of the sample; nullptr if it is not known.
const DocumentPart* document_at(const SampleRead& sample, i64 position);

}  // namespace megalith
