#include "ckpt/hf/hf_token_ids.h"

#include <filesystem>

#include "base/parse_json.h"
#include "ckpt/tensors/files.h"
#include "ckpt/tensors/json_fields.h"

namespace megalith {

using nlohmann::json;

namespace {

std::vector<i64> read_ids(const JsonFields& f, const char* key, std::optional<i64> of_class) {
  if (!f.absent(key)) return f.ids({key});
  return of_class ? std::vector<i64>{*of_class} : std::vector<i64>{};
}

json read_object(const std::string& path) {
  json object = parse_json<json>(read_text(path));
  check(object.is_object(), "[hf] {} is not a JSON object", path);
  return object;
}

}  // namespace

void read_token_ids(const JsonFields& f, HfConfig& c) {
  const HfClassIds& ids = c.family->ids;
  c.bos_token_ids = read_ids(f, "bos_token_id", ids.bos);
  c.eos_token_ids = read_ids(f, "eos_token_id", ids.eos);
  c.pad_token_ids = read_ids(f, "pad_token_id", ids.pad);
  const std::vector<i64> starts = read_ids(f, "decoder_start_token_id", {});
  if (c.model.is_t5() && !starts.empty()) c.decoder_start = starts[0];
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
  if (config.model.is_t5()) j["decoder_start_token_id"] = config.decoder_start.value_or(kT5Start);
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

std::optional<i64> hf_decoder_start(const std::string& config) {
  if (config.empty()) return std::nullopt;
  const auto own = parse_json<json>(config);
  const auto id = own.is_object() ? own.find("decoder_start_token_id") : own.end();
  if (id == own.end() || !id->is_number_integer()) return std::nullopt;
  return id->get<i64>();
}

}  // namespace megalith
