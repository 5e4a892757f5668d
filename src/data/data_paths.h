// Lists of datasets that are kept in files instead of the command line.
#pragma once
#include "data/config.h"

namespace megalith {

// The config with the lists of --data-args-path or --per-split-data-args-path filled in; else unchanged. The first file
// has words separated by blanks. The second is JSON with the keys train, valid and test: each is a list of strings, or
// one string with blanks. Error, naming the file, if it cannot be read or has another form.
DataConfig with_paths_from_files(DataConfig config);

// The first of the files that the config names, lists and data, that is not there; empty if all are. Opens no data.
std::string missing_data(const DataConfig& config);

}  // namespace megalith
