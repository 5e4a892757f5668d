// How far a run has read each of its datasets. The log prints it, and checkpoints keep it.
#pragma once
#include <string>
#include <vector>

#include "data/build_datasets.h"

namespace megalith {

// The use after this many samples of the training set. Empty if samples are not read in order (--dataloader-type).
std::vector<DatasetUse> data_use(const DataConfig& config, const Dataset& train, i64 consumed_samples);

// " data read after 120 samples: a 0.53 epochs (40 samples), b ...": the most-read datasets first, twenty at most.
std::string data_use_line(std::vector<DatasetUse> use, i64 consumed_samples);

// A warning if the data of a resumed run differ from the data that its checkpoint was trained on. Empty if they are
// equal.
std::string changed_data(const std::vector<DatasetUse>& saved, const std::vector<DatasetUse>& now);

}  // namespace megalith
