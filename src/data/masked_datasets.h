// Builds the train, valid and test sets of a model that learns from masked sentences (BERT, T5).
#pragma once
#include <functional>

#include "data/build_datasets.h"
#include "data/token_source.h"

namespace megalith {

// Makes the samples of some documents of a source. `document_begins` has the first sentence of each document, then
// the end. samples: the minimum; empty: one epoch.
using MakeMasked = std::function<std::shared_ptr<const Dataset>(
    std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins, std::optional<i64> samples)>;

// Each sequence is a sentence. mock_tokens: number of ids for generated sentences. Splits are of documents, blends as
// in build_datasets. Error: see build_datasets.
Datasets build_masked_datasets(const DataConfig& config, const SampleCounts& counts, i64 mock_tokens,
                               const MakeMasked& make);

}  // namespace megalith
