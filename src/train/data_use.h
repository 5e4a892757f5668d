// How far a run has read each of its datasets: told in the log, kept in checkpoints.
#pragma once
#include <string>
#include <vector>

#include "data/build_datasets.h"

namespace megalith {

// After so many samples of the training set; nothing if they are not read in order (--dataloader-type).
std::vector<DatasetUse> data_use(const DataConfig& config, const Dataset& train, i64 consumed_samples);

// " data read after 120 samples: a 0.53 epochs (40 samples), b ...": the ones read most often first, twenty at most.
std::string data_use_line(std::vector<DatasetUse> use, i64 consumed_samples);

// What to say where a resumed run's data are not those that its checkpoint was trained on so far; empty if they are.
std::string changed_data(const std::vector<DatasetUse>& saved, const std::vector<DatasetUse>& now);

}  // namespace megalith
