// Puts indexed datasets together as Megatron's tools/merge_datasets.py does: the same bytes as if all their documents
// had been written at once.
#pragma once
#include <string>
#include <vector>

#include "data/token_type.h"

namespace megalith {

// The prefixes of all datasets in a folder, in the order of their names. Error if one of a pair of files is missing, or
// if there are none.
std::vector<std::string> datasets_in(const std::string& folder);

struct MergedDatasets {
  i64 documents = 0, sequences = 0, tokens = 0;
  TokenType type{};
};

// Writes OUTPUT.{bin,idx}. prefixes: at least one, of datasets with one type; none may be the output.
MergedDatasets merge_datasets(const std::vector<std::string>& prefixes, const std::string& output);

}  // namespace megalith
