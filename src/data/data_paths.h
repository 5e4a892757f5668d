// Lists of datasets in files instead of on the command line.
#pragma once
#include "data/config.h"

namespace megalith {

// Adds the lists of --data-args-path or --per-split-data-args-path to the config. The first file has words separated
// by blanks. The second is JSON with the keys train, valid and test: each is a list of strings, or one string with
// blanks. Error, with the file's name, if it cannot be read or has another form.
DataConfig with_paths_from_files(DataConfig config);

// The first missing file among the lists and data of the config; empty if all exist. Opens no data.
std::string missing_data(const DataConfig& config);

// What is wrong with the paths of the config: one line for each dataset that does not exist. Opens no data.
std::vector<std::string> mistaken_data(const DataConfig& config);

}  // namespace megalith
