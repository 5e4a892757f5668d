#include "ckpt/formats.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/parse_json.h"
#include "ckpt/native/model_json.h"
#include "ckpt/tensors/tensor_store.h"

namespace megalith {

using nlohmann::ordered_json;

// The model's origin, which convert writes into the training state.
void read_origin(const std::string& state_json, AnyCheckpoint& c) {
  const auto state = parse_json<ordered_json>(state_json);
  check(state.is_object(), "[load] {}: its training state is not a JSON object", c.path);
  if (state.contains("hf_config") && state["hf_config"].is_string())
    c.hf_config = state["hf_config"].get<std::string>();
  if (!state.value("hf_foreign", false)) c.model = model_from_json(c.manifest.config_json, "[load] " + c.path);
}

std::string state_of_hf(const std::string& hf_config, bool foreign) {
  ordered_json state = {
      {"schedule_samples", 0}, {"optimizer_steps", 0}, {"skipped_iterations", 0}, {"hf_config", hf_config}};
  if (foreign) state["hf_foreign"] = true;
  return state.dump();
}

void read_parts(const TensorStore& store, RawCheckpoint& raw) {
  for (std::size_t i = 0; i < store.tensors().size(); ++i) raw.parts.push_back(i64(store.boxes(i).size()));
}

}  // namespace megalith
