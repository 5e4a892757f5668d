// The settings of sliding windows in config.json.
#include <algorithm>

#include "ckpt/hf/families/parts.h"

namespace megalith {

using nlohmann::json;

// transformers' classes have a window of 4096 where the key is absent, and none where it is null.
static i64 read_window_size(const JsonFields& f) {
  return f.absent("sliding_window") ? 4096 : f.count({"sliding_window"}, 0);
}

// The window of the layers from max_window_layers on, or of the layers that layer_types lists. All layers must agree.
static i64 read_layer_windows(const JsonFields& f, i64 layers, i64 window) {
  i64 sliding = window > 0 ? std::max<i64>(0, layers - f.count({"max_window_layers"}, 28)) : 0;
  if (const json* types = f.find({"layer_types"})) {
    check(types->is_array() && i64(types->size()) == layers, "{}: layer_types must list all {} layers", f.where(),
          layers);
    for (const json& t : *types)
      check(t == "full_attention" || (t == "sliding_attention" && window > 0),
            "{}: layer_types has {}; want full_attention, or sliding_attention with a sliding_window", f.where(),
            t.dump());
    sliding = std::ranges::count(*types, json("sliding_attention"));
  }
  check(sliding == 0 || sliding == layers,
        "{}: a sliding window in {} of {} layers is not supported; all or none may have it (layer_types, "
        "max_window_layers)",
        f.where(), sliding, layers);
  return sliding == 0 ? 0 : window;
}

i64 read_window(const JsonFields& f, i64 layers) {
  const i64 window = read_window_size(f);
  check(!f.has("layer_types") || read_layer_windows(f, layers, window) == window,
        "{}: layer_types contradicts sliding_window = {}", f.where(), window);
  return window;
}

i64 read_switched_window(const JsonFields& f, i64 layers) {
  return read_layer_windows(f, layers, f.flag({"use_sliding_window"}, false) ? read_window_size(f) : 0);
}

void write_switched_window(const ModelConfig& m, nlohmann::ordered_json& j) {
  const bool slides = m.sliding_window > 0;
  j["use_sliding_window"] = slides;
  j["sliding_window"] = slides ? nlohmann::ordered_json(m.sliding_window) : nlohmann::ordered_json();
  j["max_window_layers"] = slides ? 0 : m.num_layers;
}

}  // namespace megalith
