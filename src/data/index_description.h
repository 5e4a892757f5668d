// What an index depends on, as Megatron writes it down: the digest of this text names the cached files.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/config.h"
#include "data/gpt_index.h"

namespace megalith {

// Describes an index besides the request.
struct IndexKey {
  const DataConfig& config;
  Split split;
  std::string split_text;  // --split, empty with one list of files per split
};

// Megatron's unique description of a GPT dataset.
nlohmann::ordered_json gpt_description(const std::string& prefix, const GptIndexRequest& request, const IndexKey& key);

// Of a blend of such datasets. `weights` are integers if there is no size, which then is one epoch of all.
nlohmann::ordered_json blend_description(std::vector<nlohmann::ordered_json> datasets, Split split,
                                         const nlohmann::ordered_json& weights, std::optional<i64> size);

}  // namespace megalith
