// Indices on disk under --data-cache-path, with Megatron's names and formats: both programs can share them.
//
// The name is the MD5 of a description, JSON as Python prints it. It describes everything except the contents of the
// data. So an index that is older than its data, or does not fit it, is built again. Any process may build any index at
// any time: files are published by rename.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/blend_index.h"
#include "data/gpt_index.h"
#include "data/index_description.h"

namespace megalith {

// Maps the index from the cache's files, and builds them first if they are missing. Without a folder the index is in
// memory; also, with a warning, if the folder is not writable.
GptIndex load_or_build_index(const TokenSource& source, const GptIndexRequest& request, const IndexKey& key);

// The same for a blend of datasets with these prefixes; a folder is required.
BlendIndex load_or_build_blend(const BlendPlan& plan, const nlohmann::ordered_json& description,
                               const std::vector<std::string>& prefixes, const IndexKey& key);

}  // namespace megalith
