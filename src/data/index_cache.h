// Indices kept on disk under --data-cache-path, with Megatron's names and formats, so that the two programs share them.
//
// The name is the MD5 of a description (JSON as Python prints it) of everything the index depends on except the
// contents of the data; an index older than its data or unfit for them is therefore built again.
#pragma once
#include <string>

#include "data/config.h"
#include "data/gpt_index.h"

namespace megalith {

// What is being built, beside the request.
struct IndexKey {
  const DataConfig& config;
  Split split;
  std::string split_text;  // --split, empty with one list of files per split
};

// Megatron's unique description of a GPT dataset.
std::string index_description(const std::string& prefix, const GptIndexRequest& request, const IndexKey& key);

// The index from the cache, if there is a folder for it and the index is there; else built and, with a folder, kept.
// A cache that cannot be written is a warning.
GptIndex load_or_build_index(const TokenSource& source, const GptIndexRequest& request, const IndexKey& key);

}  // namespace megalith
