#include "tokens/hf/tokenizer_class.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/check.h"
#include "tokens/split_pattern.h"

namespace megalith::hf {

namespace {

constexpr std::string_view kNull = "null";
constexpr std::string_view kNfc = R"({"type": "NFC"})";
constexpr std::string_view kByteLevel = R"({"type": "ByteLevel"})";
constexpr std::string_view kGpt2Cut = R"({"type": "ByteLevel", "add_prefix_space": {prefix}, "use_regex": true})";
constexpr std::string_view kGpt2Names =
    R"({"unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"})";
constexpr std::string_view kBytes =
    R"({"unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,)"
    R"( "byte_fallback": false, "ignore_merges": false})";
constexpr std::string_view kPieces =
    R"({"unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true,)"
    R"( "byte_fallback": true, "ignore_merges": false})";
constexpr std::string_view kGemmaPieces =
    R"({"unk_token": {unk}, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true,)"
    R"( "byte_fallback": true, "ignore_merges": false})";
constexpr std::string_view kQwenCut =
    R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "{qwen}"}, "behavior": "Isolated",)"
    R"( "invert": false}, {"type": "ByteLevel", "add_prefix_space": {prefix}, "use_regex": false}]})";
constexpr std::string_view kCohereCut =
    R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true},)"
    R"( {"type": "ByteLevel", "add_prefix_space": {prefix}, "use_regex": true}]})";
constexpr std::string_view kLlamaCut =
    R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "{scheme}", "split": false})";
constexpr std::string_view kPieceDecoder =
    R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},)"
    R"( {"type": "ByteFallback"}, {"type": "Fuse"}]})";
constexpr std::string_view kLlamaDecoder =
    R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},)"
    R"( {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": {strip}, "stop": 0}]})";

constexpr TokenizerClass kClasses[] = {
    {.name = "GPT2Tokenizer",
     .model = kBytes,
     .normalizer = kNull,
     .pre_tokenizer = kGpt2Cut,
     .decoder = kByteLevel,
     .names = kGpt2Names},
    {.name = "CodeGenTokenizer",
     .model = kBytes,
     .normalizer = kNull,
     .pre_tokenizer = kGpt2Cut,
     .decoder = kByteLevel,
     .names = kGpt2Names},
    {.name = "GPTNeoXTokenizer",
     .model = kBytes,
     .normalizer = kNfc,
     .pre_tokenizer = kGpt2Cut,
     .decoder = kByteLevel,
     .names = R"({"unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",)"
              R"( "pad_token": "<|padding|>"})",
     .keeps_post_processor = false},
    {.name = "Qwen2Tokenizer",
     .model = kBytes,
     .normalizer = kNfc,
     .pre_tokenizer = kQwenCut,
     .decoder = kByteLevel,
     .names = R"({"unk_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"})",
     .again = AgainAs::plain},
    {.name = "CohereTokenizer",
     .model = kBytes,
     .normalizer = kNfc,
     .pre_tokenizer = kCohereCut,
     .decoder = kByteLevel,
     .names = R"({"unk_token": "<UNK>", "bos_token": "<BOS_TOKEN>", "eos_token": "<|END_OF_TURN_TOKEN|>",)"
              R"( "pad_token": "<PAD>", "cls_token": "<CLS>", "sep_token": "<SEP>", "mask_token": "<MASK_TOKEN>"})",
     .again = AgainAs::listed},
    {.name = "LlamaTokenizer",
     .model = kPieces,
     .normalizer = kNull,
     .pre_tokenizer = kLlamaCut,
     .decoder = kLlamaDecoder,
     .names = R"({"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"})",
     .adds_prefix = true},
    {.name = "GemmaTokenizer",
     .model = kGemmaPieces,
     .normalizer = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})",
     .pre_tokenizer = R"({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"})",
     .decoder = kPieceDecoder,
     .names = R"({"unk_token": "<unk>", "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>",)"
              R"( "mask_token": "<mask>"})"},
};

// The classes that transformers registers for each model type of config.json. "": a class that uses the file
// unchanged.
struct Registered {
  std::string_view name, types;
};
constexpr Registered kRegistered[] = {
    {"GPT2Tokenizer", "codegen dbrx emu3 gpt2 gpt_neo gptj jais2 opt phi starcoder2"},
    {"Qwen2Tokenizer",
     "qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl "
     "qwen3_vl_moe internvl ovis2"},
    {"GemmaTokenizer",
     "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 t5gemma zaya"},
    {"GPTNeoXTokenizer", "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm"},
    {"CohereTokenizer", "aya_vision cohere cohere2"},
    {"",
     "aria flex_olmo glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe gpt_bigcode granite granitemoe granitemoehybrid "
     "granitemoeshared kimi_k25 kimi_linear mimo_v2_flash ministral ministral3 mistral mistral3 mistral_large4 mixtral "
     "olmo2 olmo3 olmo_hybrid persimmon pixtral stablelm voxtral nemotron minicpm3 llava_next modernbert ernie4_5 "
     "ernie4_5_moe phi3 phimoe jamba molmo minimax_m2 internlm2 internlm3 llava arctic minicpmv smolvlm hyperclovax"},
};

const Registered* registered_for(std::string_view type) {
  for (const Registered& r : kRegistered) {
    std::istringstream types{std::string(r.types)};
    if (std::find(std::istream_iterator<std::string>(types), {}, type) != std::istream_iterator<std::string>())
      return &r;
  }
  return nullptr;
}

const TokenizerClass* class_named(std::string_view name) {
  const auto found = std::ranges::find(kClasses, name, &TokenizerClass::name);
  return found == std::end(kClasses) ? nullptr : found;
}

std::string text_of(const Json& config, std::string_view key) { return member(config, key).string; }

std::string filled(std::string_view json, std::string_view place, std::string_view with) {
  std::string out(json);
  for (size_t at = 0; (at = out.find(place, at)) != std::string::npos; at += with.size())
    out.replace(at, place.size(), with);
  return out;
}

// A text in JSON's form.
std::string in_json(std::string_view text) { return filled(filled(text, "\\", "\\\\"), "\"", "\\\""); }

}  // namespace

const TokenizerClass* class_of(const Json& config, const Json& model_config, bool has_bytes) {
  std::string hub = text_of(config, "tokenizer_class");
  if (hub.empty()) hub = text_of(model_config, "tokenizer_class");
  if (hub.ends_with("Fast")) hub.resize(hub.size() - 4);
  const std::string type = text_of(model_config, "model_type");
  const Registered* registered = type.empty() ? nullptr : registered_for(type);
  if (hub == "LlamaTokenizer" && has_bytes && type != "qwen2") return nullptr;
  if (hub.empty()) return registered ? class_named(registered->name) : nullptr;
  if (!registered || registered->name == hub) return class_named(hub);
  if (registered->name.empty()) return nullptr;
  return class_named(type == "qwen2" ? registered->name : hub);  // directories of qwen2 name wrong classes
}

const TokenizerClass* gpt2_class() { return class_named("GPT2Tokenizer"); }

void rebuild(Json& file, const TokenizerClass& c, const Json& config, std::string_view unknown,
             std::string_view where) {
  const Json& model = member(file, "model");
  const Json& type = member(model, "type");
  if (type.is_string() && type.string != "BPE") return;
  const bool has_unknown = member(model, "vocab").find(unknown) != nullptr;
  const bool prefix = config.flag("add_prefix_space", c.adds_prefix, where);
  const Json& legacy = member(config, "legacy");
  const bool always = legacy.kind == Json::Kind::boolean && legacy.boolean;
  const auto part = [&](std::string_view json) {
    std::string text = filled(json, "{prefix}", prefix ? "true" : "false");
    text = filled(text, "{scheme}", !prefix ? "never" : always ? "always" : "first");
    text = filled(text, "{strip}", prefix ? "1" : "0");
    text = filled(text, "{unk}", has_unknown ? fmt::format("\"{}\"", in_json(unknown)) : "null");
    return json_of(filled(text, "{qwen}", in_json(regex_of(SplitPattern::qwen))), c.name);
  };
  Json made = model, settings = part(c.model);
  for (size_t i = 0; i < settings.keys.size(); ++i) made.set(settings.keys[i], settings.items[i]);
  file.set("model", std::move(made));
  file.set("normalizer", part(c.normalizer));
  file.set("pre_tokenizer", part(c.pre_tokenizer));
  file.set("decoder", part(c.decoder));
  if (!c.keeps_post_processor) file.set("post_processor", Json());
}

}  // namespace megalith::hf
