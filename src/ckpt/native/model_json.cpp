#include "ckpt/native/model_json.h"

#include "config/field.h"
#include "config/file.h"

namespace megalith {

std::string model_to_json(const ModelConfig& model) {
  ModelConfig copy = model;
  return config::to_json(config::fields_of(copy));
}

ModelConfig model_from_json(const std::string& config_json, const std::string& where) {
  ModelConfig model;
  config::FieldList fields = config::fields_of(model);
  config::from_json(fields, config_json, where);
  model.resolve();
  return model;
}

}  // namespace megalith
