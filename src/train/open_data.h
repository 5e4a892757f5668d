// The data of a run: files of tokens, changed on their way with --fim-data, or, with --sft, chats that its tokenizer
// and template turn into samples.
#pragma once
#include "data/build_datasets.h"
#include "settings/options.h"

namespace megalith {

// The sets that the data's flags name; of chats it logs what became of them. Error: see build_datasets,
// FillInTheMiddle, read_chats and build_sft_datasets.
Datasets open_datasets(const Options& options, const SampleCounts& counts);

}  // namespace megalith
