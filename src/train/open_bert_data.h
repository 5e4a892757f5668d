// The data of a run that trains BERT.
#pragma once
#include "data/build_datasets.h"
#include "settings/options.h"

namespace megalith {

// Error also if the tokenizer lacks [CLS], [SEP], [MASK] or [PAD]. Without a tokenizer, synthetic data use the last
// four ids for them.
Datasets open_bert_data(const Options& options, const SampleCounts& counts);

}  // namespace megalith
