#include "ckpt/hf/hf_token_ids.h"

#include <filesystem>

#include "base/parse_json.h"
#include "ckpt/tensors/files.h"
#include "ckpt/tensors/json_fields.h"

namespace megalith {

using nlohmann::json;

namespace {

struct ClassIds {
  std::vector<i64> bos, eos;
};

ClassIds ids_of_class(HfFamily family) {
  switch (family) {
    case HfFamily::gpt2:
      return {{50256}, {50256}};
    case HfFamily::gpt_neox:
      return {{0}, {2}};
    case HfFamily::falcon:
      return {{11}, {11}};
    case HfFamily::qwen2:
    case HfFamily::qwen3:
      return {};
    default:
      return {{1}, {2}};
  }
}

json read_object(const std::string& path) {
  json object = parse_json<json>(read_text(path));
  check(object.is_object(), "[hf] {} is not a JSON object", path);
  return object;
}

}  // namespace

void read_token_ids(const JsonFields& f, HfConfig& c) {
  const ClassIds ids = ids_of_class(c.family);
  c.bos_token_ids = f.absent("bos_token_id") ? ids.bos : f.ids({"bos_token_id"});
  c.eos_token_ids = f.absent("eos_token_id") ? ids.eos : f.ids({"eos_token_id"});
  c.pad_token_ids = f.ids({"pad_token_id"});
}

std::string write_generation_config(const HfConfig& config) {
  nlohmann::ordered_json j = {{"_from_model_config", true}};
  const auto put = [&](const char* key, const std::vector<i64>& ids) {
    if (ids.size() == 1)
      j[key] = ids[0];
    else if (!ids.empty())
      j[key] = ids;
  };
  put("bos_token_id", config.bos_token_ids), put("eos_token_id", config.eos_token_ids);
  put("pad_token_id", config.pad_token_ids);
  return j.dump(2) + "\n";
}

std::vector<i64> hf_ends_of_text(const std::string& dir, const std::string& config) {
  const std::string path = dir + "/" + kGenerationConfig;
  std::vector<i64> ends;
  if (std::filesystem::exists(path)) ends = JsonFields(read_object(path), "[hf] " + path).ids({"eos_token_id"});
  if (config.empty()) return ends;
  const std::string where = "[hf] the config.json of " + dir;
  const auto own = parse_json<json>(config);
  const bool told = own.is_object() && own.contains("eos_token_id");
  if (!told && !ends.empty()) return ends;
  const std::vector<i64> others = parse_hf_config(config, where).eos_token_ids;
  ends.insert(ends.end(), others.begin(), others.end());
  return ends;
}

}  // namespace megalith
