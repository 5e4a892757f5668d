// What config.json says of rotary embeddings.
#include <algorithm>

#include "ckpt/hf/families/parts.h"

namespace megalith {

using nlohmann::json;

// The length at the top level counts before the one among the rope settings.
static void read_llama3_scaling(const JsonFields& f, const JsonFields& rope, ModelConfig& m) {
  m.use_rope_scaling = true;
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"})
    check(rope.has(key), "{}: {} is missing", rope.where(), key);
  m.rope_scaling_factor = rope.positive({"factor"}, 8);
  m.rope_low_freq_factor = rope.positive({"low_freq_factor"}, 1);
  m.rope_high_freq_factor = rope.positive({"high_freq_factor"}, 4);
  constexpr const char* kLength = "original_max_position_embeddings";
  m.rope_original_max_position_embeddings = f.size({kLength}, rope.size({kLength}, m.max_position_embeddings));
}

// The settings of the old key, if it has any; else of the new one.
static const json& rope_settings(const JsonFields& f) {
  static const json kNone = json::object();
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* object = f.find({key});
    if (object == nullptr || (object->is_object() && object->empty())) continue;
    if (!object->is_object() || std::ranges::any_of(*object, [](const json& v) { return v.is_object(); }))
      f.want({key}, *object, "one set of rope settings for all layers");
    return *object;
  }
  return kNone;
}

void read_rope(const JsonFields& f, ModelConfig& m, const RopeKeys& keys) {
  m.position_embedding_type = PositionEmbedding::rope;
  const JsonFields rope(rope_settings(f), f.where() + ": rope_parameters");
  // Each family has names of its own at the top level, and does not read the others'.
  m.rotary_base = rope.positive({"rope_theta"}, f.positive({keys.base}, keys.default_base));
  m.rotary_percent = rope.positive({"partial_rotary_factor"}, f.positive({keys.part}, keys.default_part));
  check(m.rotary_percent <= 1 && (keys.may_turn_part || m.rotary_percent == 1),
        "{}: partial_rotary_factor = {} is not supported for this architecture; only {} is", f.where(),
        m.rotary_percent, keys.may_turn_part ? "a number up to 1" : "1");
  const std::string type = rope.text({"rope_type", "type"}, "default");
  if (type == "linear")
    m.rotary_seq_len_interpolation_factor = rope.positive({"factor"}, 1);
  else if (type == "llama3")
    read_llama3_scaling(f, rope, m);
  else
    check(type == "default", "{}: rope_type = \"{}\" is not supported; default, linear and llama3 are", f.where(),
          type);
}

nlohmann::ordered_json rope_scaling(const ModelConfig& m) {
  if (m.use_rope_scaling)
    return {{"rope_type", "llama3"},
            {"factor", m.rope_scaling_factor},
            {"low_freq_factor", m.rope_low_freq_factor},
            {"high_freq_factor", m.rope_high_freq_factor},
            {"original_max_position_embeddings", m.rope_original_max_position_embeddings}};
  if (m.rotary_seq_len_interpolation_factor != 1)
    return {{"rope_type", "linear"}, {"factor", m.rotary_seq_len_interpolation_factor}};
  return nullptr;
}

}  // namespace megalith
