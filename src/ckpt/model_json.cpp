#include "ckpt/model_json.h"

#include "base/check.h"
#include "base/parse_json.h"
#include "config/field.h"
#include "config/file.h"

namespace megalith {

std::string model_to_json(const ModelConfig& model) {
  ModelConfig copy = model;
  return config::to_json(config::fields_of(copy));
}

ModelConfig model_from_json(const std::string& config_json, const std::string& where) {
  const auto all = parse_json<nlohmann::ordered_json>(config_json);
  check(all.is_object(), "{}: its settings are not a JSON object", where);
  ModelConfig model;
  config::FieldList fields = config::fields_of(model);
  auto known = nlohmann::ordered_json::object();
  for (const config::Field& field : fields.all())
    if (all.contains(field.key())) known[field.key()] = all[field.key()];
  config::from_json(fields, known.dump(), where);
  model.resolve();
  return model;
}

}  // namespace megalith
