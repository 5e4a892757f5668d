// The data of a run that trains a T5.
#pragma once
#include "data/build_datasets.h"
#include "settings/options.h"

namespace megalith {

// Error also if the tokenizer has no sentinels (<extra_id_0>, ..), or no end-of-text token. Without a tokenizer,
// synthetic data use the last ids for them.
Datasets open_t5_data(const Options& options, const SampleCounts& counts);

}  // namespace megalith
