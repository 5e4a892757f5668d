// A model's settings as part of a run's, in the JSON of manifests.
#pragma once
#include <string>

#include "models/config.h"

namespace megalith {

std::string model_to_json(const ModelConfig& model);
// Error if the text is no JSON object, or if a model setting has a value of the wrong kind; other settings in it are
// passed over. `where` names it.
ModelConfig model_from_json(const std::string& config_json, const std::string& where);

}  // namespace megalith
