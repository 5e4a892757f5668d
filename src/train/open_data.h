// The data of a run: token files, which --fim-data may change, or with --sft chats, which the tokenizer and the
// template turn into samples.
#pragma once
#include "data/build_datasets.h"
#include "settings/options.h"

namespace megalith {

// The sets that the data flags name. For chats it logs how many were used, cut and skipped. Error: see
// build_datasets, FillInTheMiddle, read_chats and build_sft_datasets.
Datasets open_datasets(const Options& options, const SampleCounts& counts);

}  // namespace megalith
