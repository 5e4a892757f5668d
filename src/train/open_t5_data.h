// The data of a run that trains a T5.
#pragma once
#include "data/build_datasets.h"
#include "settings/options.h"

namespace megalith {

// Error also if the tokenizer has no sentinels (<extra_id_0>, ..), or no token for a text's end. Without a tokenizer
// made-up data have ids of their own for those: the last ones.
Datasets open_t5_data(const Options& options, const SampleCounts& counts);

}  // namespace megalith
