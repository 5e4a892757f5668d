// Describes what an index depends on, in Megatron's format. The digest of this text is in the names of cached files.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/config.h"
#include "data/gpt_index.h"

namespace megalith {

// The parts of a description that are not in the request.
struct IndexKey {
  const DataConfig& config;
  Split split;
  std::string split_text;  // --split; empty if each split has its own files
};

// Megatron's unique description of a GPT dataset.
nlohmann::ordered_json gpt_description(const std::string& prefix, const GptIndexRequest& request, const IndexKey& key);

// The description of a blend of such datasets. Without a size (one epoch of all) `weights` are integers.
nlohmann::ordered_json blend_description(std::vector<nlohmann::ordered_json> datasets, Split split,
                                         const nlohmann::ordered_json& weights, std::optional<i64> size);

}  // namespace megalith
