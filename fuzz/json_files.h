// Small tokenizer.json files that together have every component.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

namespace megalith::fuzz {

nlohmann::json byte_vocab();  // the 256 letters of single bytes, and a few words
std::vector<nlohmann::json> tokenizer_files();

}  // namespace megalith::fuzz
