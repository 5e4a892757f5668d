// The data of a RETRO: a GPT's samples with the neighbours of --retro-project-dir.
#pragma once
#include "data/build_datasets.h"
#include "settings/options.h"

namespace megalith {

Datasets open_retro_data(const Options& options, const SampleCounts& counts);

}  // namespace megalith
