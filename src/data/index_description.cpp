#include "data/index_description.h"

#include <nlohmann/json.hpp>

namespace megalith {
namespace {

using Json = nlohmann::ordered_json;

Json matrix_json(const std::string& split_text) {
  if (split_text.empty()) return nullptr;
  Json matrix = Json::array();
  const SplitMatrix cells = parse_split(split_text);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i])
      matrix.push_back(nullptr);
    else  // Megatron prints its first bound as the integer 0
      matrix.push_back({i == 0 ? Json(0) : Json(cells[i]->begin), Json(cells[i]->end)});
  }
  return matrix;
}

Json tokenizer_json(const DataConfig& config) {
  Json tokenizer;
  tokenizer["class"] = "megatron.core.tokenizers.text.text_tokenizer.MegatronTokenizerText";
  tokenizer["tokenizer_path"] = config.tokenizer_path.empty() ? Json(nullptr) : Json(config.tokenizer_path);
  for (const auto& [name, value] : config.tokenizer_arguments) tokenizer[name] = value;
  return tokenizer;
}

}  // namespace

Json gpt_description(const std::string& prefix, const GptIndexRequest& request, const IndexKey& key) {
  Json json;
  json["class"] = "GPTDataset";
  json["dataset_path"] = prefix;
  json["num_samples"] = request.samples ? Json(*request.samples) : Json(nullptr);
  json["index_split"] = name_of(key.split);
  json["random_seed"] = request.seed;
  json["sequence_length"] = request.seq_length;
  json["split"] = key.split_text.empty() ? Json(nullptr) : Json(key.split_text);
  json["split_matrix"] = matrix_json(key.split_text);
  json["tokenizer"] = tokenizer_json(key.config);
  return json;
}

Json blend_description(std::vector<Json> datasets, Split split, const Json& weights, std::optional<i64> size) {
  Json json;
  json["class"] = "BlendedDataset";
  json["datasets"] = std::move(datasets);
  json["split"] = name_of(split);
  json["weights"] = weights;
  json["size"] = size ? Json(*size) : Json(nullptr);
  return json;
}

}  // namespace megalith
