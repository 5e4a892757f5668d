// From what the user says about the data to the sets of a model that learns from masked sentences (BERT).
#pragma once
#include <functional>

#include "data/build_datasets.h"
#include "data/token_source.h"

namespace megalith {

// Samples of some documents of a source: `document_begins` has the first sentence of each and, last, the end. samples:
// at least so many; none: one epoch.
using MakeMasked = std::function<std::shared_ptr<const Dataset>(
    std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins, std::optional<i64> samples)>;

// The paths' sequences are sentences. mock_tokens: ids that made-up sentences may have. Splits are of documents, blends
// as those of build_datasets. Error: see build_datasets.
Datasets build_masked_datasets(const DataConfig& config, const SampleCounts& counts, i64 mock_tokens,
                               const MakeMasked& make);

}  // namespace megalith
