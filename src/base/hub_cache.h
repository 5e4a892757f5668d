// The local cache of the Hugging Face hub: a folder with models--ORG--NAME/refs/main and snapshots/COMMIT.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace megalith {

// The folder that the hub's own programs use: HF_HUB_CACHE, else hub in HF_HOME, else huggingface/hub in
// XDG_CACHE_HOME or ~/.cache. Empty if none of the variables is set. `environment`: std::getenv, or a test's.
std::filesystem::path hub_cache_folder(const std::function<const char*(const char*)>& environment);

// Whether it can be a model's name on the hub: NAME or ORG/NAME of letters, digits, '.', '-' and '_'. A
// name with the ending of a data file is a file's.
bool is_hub_name(std::string_view text);

// The folder of a model's files as `main` had them when they were fetched; empty if the cache does not have it.
std::filesystem::path hub_snapshot(const std::filesystem::path& cache, std::string_view name);

}  // namespace megalith
