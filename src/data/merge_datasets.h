// Concatenates indexed datasets as Megatron's tools/merge_datasets.py does: the same bytes as if all their documents
// had been written together.
#pragma once
#include <string>
#include <vector>

#include "data/token_type.h"

namespace megalith {

// The prefixes of all datasets in a folder, sorted by name. Error if one of a pair of files is missing, or if there
// are none.
std::vector<std::string> datasets_in(const std::string& folder);

struct MergedDatasets {
  i64 documents = 0, sequences = 0, tokens = 0;
  TokenType type{};
};

// Writes OUTPUT.{bin,idx}. prefixes: at least one, all of one type; none may be the output.
MergedDatasets merge_datasets(const std::vector<std::string>& prefixes, const std::string& output);

}  // namespace megalith
