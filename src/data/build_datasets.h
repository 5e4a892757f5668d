// Builds the train, valid and test sets from the user's data flags.
#pragma once
#include <memory>

#include "data/config.h"
#include "data/dataset.h"
#include "data/gpt_dataset.h"

namespace megalith {

struct Datasets {
  std::shared_ptr<const Dataset> train, valid, test;  // null: no samples are requested, or the split has weight zero
  // With multiple_validation_sets, instead of `valid`: one dataset for each prefix, in their order.
  std::vector<std::shared_ptr<const Dataset>> valid_sets{};
};

// Opens the files and builds or loads the indices. Error (one line) on missing or damaged files, or if data is given
// in two ways or not at all. Also if a split with requested samples has no documents. `edit` receives every sample,
// with its index in its own prefix and split.
Datasets build_datasets(const DataConfig& config, const SampleCounts& counts, const TextEdit& edit = {});

// Error if the config gives data in no way or in several ways. Also if --seq-length or --seed is out of range.
void check_data_config(const DataConfig& config);
// The items of --train-, --valid- or --test-data-path.
const std::vector<std::string>& own_path(const DataConfig& config, Split split);

}  // namespace megalith
