// Indices kept on disk under --data-cache-path, with Megatron's names and formats, so that the two programs share them.
//
// The name is the MD5 of a description (JSON as Python prints it) of everything the index depends on except the
// contents of the data; an index older than its data or unfit for them is therefore built again. Any process may build
// any index at any time: files appear whole, by renaming.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/blend_index.h"
#include "data/gpt_index.h"
#include "data/index_description.h"

namespace megalith {

// The index from the cache's files, which are then mapped, if there is a folder for it; they are built if they are
// missing. Without a folder, or with a warning where it cannot be written, in memory.
GptIndex load_or_build_index(const TokenSource& source, const GptIndexRequest& request, const IndexKey& key);

// The same for a blend of the datasets of these prefixes; there must be a folder.
BlendIndex load_or_build_blend(const BlendPlan& plan, const nlohmann::ordered_json& description,
                               const std::vector<std::string>& prefixes, const IndexKey& key);

}  // namespace megalith
