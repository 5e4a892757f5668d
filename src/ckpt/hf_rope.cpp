#include "ckpt/hf_rope.h"

#include <algorithm>

#include "ckpt/json_fields.h"

namespace megalith {

using nlohmann::json;

static void read_llama3_scaling(const JsonFields& rope, ModelConfig& m) {
  m.use_rope_scaling = true;
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"})
    check(rope.has(key), "{}: {} is missing", rope.where(), key);
  m.rope_scaling_factor = rope.positive({"factor"}, 8);
  m.rope_low_freq_factor = rope.positive({"low_freq_factor"}, 1);
  m.rope_high_freq_factor = rope.positive({"high_freq_factor"}, 4);
  m.rope_original_max_position_embeddings = rope.size({"original_max_position_embeddings"}, m.max_position_embeddings);
}

void read_rope(const JsonFields& f, ModelConfig& m, bool partial) {
  m.position_embedding_type = PositionEmbedding::rope;
  static const json kNone = json::object();
  const json* object = f.find({"rope_scaling", "rope_parameters"});
  if (object == nullptr) object = &kNone;
  if (!object->is_object() || std::ranges::any_of(*object, [](const json& v) { return v.is_object(); }))
    f.want({"rope_parameters"}, *object, "one set of rope settings for all layers");
  const JsonFields rope(*object, f.where() + ": rope_parameters");
  m.rotary_base = rope.positive({"rope_theta"}, f.positive({"rope_theta", "rotary_emb_base"}, 10000));
  m.rotary_percent = rope.positive({"partial_rotary_factor"},
                                   f.positive({"partial_rotary_factor", "rotary_pct"}, partial ? 0.25 : 1.0));
  check(m.rotary_percent <= 1 && (partial || m.rotary_percent == 1),
        "{}: partial_rotary_factor = {} is not supported for this architecture; only {} is", f.where(),
        m.rotary_percent, partial ? "a number up to 1" : "1");
  const std::string type = rope.text({"rope_type", "type"}, "default");
  if (type == "linear")
    m.rotary_seq_len_interpolation_factor = rope.positive({"factor"}, 1);
  else if (type == "llama3")
    read_llama3_scaling(rope, m);
  else
    check(type == "default", "{}: rope_type = \"{}\" is not supported; default, linear and llama3 are", f.where(),
          type);
}

}  // namespace megalith
