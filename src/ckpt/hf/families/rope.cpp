// The settings of rotary embeddings in config.json.
#include <algorithm>

#include "ckpt/hf/families/parts.h"

namespace megalith {

using nlohmann::json;

using Kind = RopeScaling::Kind;

constexpr const char* kLength = "original_max_position_embeddings";

// The length at the top level counts before the one among the rope settings.
static i64 original_length(const JsonFields& f, const JsonFields& rope, const ModelConfig& m) {
  return f.size({kLength}, rope.size({kLength}, m.max_position_embeddings));
}

static void read_llama3(const JsonFields& f, const JsonFields& rope, ModelConfig& m) {
  RopeScaling& s = m.rope_scaling;
  s.kind = Kind::llama3;
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"})
    check(rope.has(key), "{}: {} is missing", rope.where(), key);
  s.factor = rope.positive({"factor"}, 8);
  s.low_freq_factor = rope.positive({"low_freq_factor"}, 1);
  s.high_freq_factor = rope.positive({"high_freq_factor"}, 4);
  s.original_length = original_length(f, rope, m);
}

// yarn and longrope: the factor (of longrope by default that of the lengths), and the amplitude, if given.
static void read_lengths(const JsonFields& f, const JsonFields& rope, ModelConfig& m, Kind kind) {
  RopeScaling& s = m.rope_scaling;
  s.kind = kind, s.original_length = original_length(f, rope, m);
  s.factor = rope.positive({"factor"}, double(m.max_position_embeddings) / double(s.original_length));
  if (rope.has("attention_factor")) s.attention_factor = rope.number({"attention_factor"}, 1);
}

// Without both kinds of mscale the amplitude is that of mscale 1. Scores may still use mscale_all_dim.
static void read_yarn(const JsonFields& f, const JsonFields& rope, ModelConfig& m) {
  RopeScaling& s = m.rope_scaling;
  read_lengths(f, rope, m, Kind::yarn);
  const auto or_default = [&](const char* key, double value) {
    const double given = rope.number({key}, 0);
    return given == 0 ? value : given;
  };
  s.beta_fast = or_default("beta_fast", 32), s.beta_slow = or_default("beta_slow", 1);
  s.whole_ends = rope.flag({"truncate"}, true);
  s.mscale = or_default("mscale", 1), s.mscale_all_dim = rope.number({"mscale_all_dim"}, 0);
  const bool both = rope.number({"mscale"}, 0) != 0 && s.mscale_all_dim != 0;
  if (both) return;
  s.mscale = 1;
  if (s.mscale_all_dim != 0 && !s.attention_factor) s.attention_factor = yarn_mscale(s.factor, 1);
}

static std::vector<double> read_factors(const JsonFields& rope, const char* key) {
  const json* list = rope.find({key});
  check(list != nullptr, "{}: {} is missing", rope.where(), key);
  std::vector<double> out;
  for (const json& v : list->is_array() ? *list : json::array({*list})) {
    if (!v.is_number() || v.get<double>() <= 0) rope.want({key}, *list, "a list of numbers above 0");
    out.push_back(v.get<double>());
  }
  return out;
}

static void read_scaling(const JsonFields& f, const JsonFields& rope, ModelConfig& m) {
  RopeScaling& s = m.rope_scaling;
  const std::string type = rope.text({"rope_type", "type"}, "default");
  s.kind = Kind::none;
  check(rope.has("factor") || (type != "linear" && type != "dynamic" && type != "yarn"), "{}: factor is missing",
        rope.where());
  if (type == "linear") {
    m.rotary_seq_len_interpolation_factor = rope.positive({"factor"}, 1);
  } else if (type == "llama3") {
    read_llama3(f, rope, m);
  } else if (type == "yarn") {
    read_yarn(f, rope, m);
  } else if (type == "dynamic") {
    s.kind = Kind::dynamic, s.factor = rope.positive({"factor"}, 1), s.original_length = m.max_position_embeddings;
  } else if (type == "longrope") {
    read_lengths(f, rope, m, Kind::longrope);
    s.short_factors = read_factors(rope, "short_factor"), s.long_factors = read_factors(rope, "long_factor");
  } else {
    check(type == "default",
          "{}: rope_type = \"{}\" is not supported; default, linear, llama3, yarn, dynamic and longrope are", f.where(),
          type);
  }
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
  // Each family has different names at the top level, and ignores the others'.
  m.rotary_base = rope.positive({"rope_theta"}, f.positive({keys.base}, keys.default_base));
  m.rotary_percent = rope.positive({"partial_rotary_factor"}, f.positive({keys.part}, keys.default_part));
  check(m.rotary_percent <= 1 && (keys.may_turn_part || m.rotary_percent == 1),
        "{}: partial_rotary_factor = {} is not supported for this architecture; only {} is", f.where(),
        m.rotary_percent, keys.may_turn_part ? "a number up to 1" : "1");
  read_scaling(f, rope, m);
}

static nlohmann::ordered_json write_yarn(const RopeScaling& s) {
  nlohmann::ordered_json j = {{"rope_type", "yarn"},      {"factor", s.factor},       {kLength, s.original_length},
                              {"beta_fast", s.beta_fast}, {"beta_slow", s.beta_slow}, {"truncate", s.whole_ends}};
  const bool both = s.mscale != 0 && s.mscale_all_dim != 0;
  if (both) j["mscale"] = s.mscale;
  if (s.mscale_all_dim != 0) j["mscale_all_dim"] = s.mscale_all_dim;
  const double usual =
      both ? yarn_mscale(s.factor, s.mscale) / yarn_mscale(s.factor, s.mscale_all_dim) : yarn_mscale(s.factor, 1);
  if (s.amplitude() != usual) j["attention_factor"] = s.amplitude();
  return j;
}

static nlohmann::ordered_json write_longrope(const RopeScaling& s) {
  nlohmann::ordered_json j = {{"rope_type", "longrope"},
                              {"factor", s.factor},
                              {kLength, s.original_length},
                              {"short_factor", s.short_factors},
                              {"long_factor", s.long_factors}};
  if (s.attention_factor) j["attention_factor"] = *s.attention_factor;
  return j;
}

nlohmann::ordered_json rope_scaling(const ModelConfig& m) {
  const RopeScaling& s = m.rope_scaling;
  switch (s.kind) {
    case Kind::llama3:
      return {{"rope_type", "llama3"},
              {"factor", s.factor},
              {"low_freq_factor", s.low_freq_factor},
              {"high_freq_factor", s.high_freq_factor},
              {kLength, s.original_length}};
    case Kind::yarn:
      return write_yarn(s);
    case Kind::dynamic:
      return {{"rope_type", "dynamic"}, {"factor", s.factor}};
    case Kind::longrope:
      return write_longrope(s);
    default:
      break;
  }
  if (m.rotary_seq_len_interpolation_factor != 1)
    return {{"rope_type", "linear"}, {"factor", m.rotary_seq_len_interpolation_factor}};
  return nullptr;
}

}  // namespace megalith
