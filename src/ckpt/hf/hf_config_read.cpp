// config.json -> ModelConfig: the family, and the settings that all families share. Defaults for absent keys are
// those of transformers' configuration classes.
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>

#include "base/parse_json.h"
#include "ckpt/hf/hf_config.h"
#include "ckpt/hf/hf_mapping.h"
#include "ckpt/hf/hf_token_ids.h"
#include "ckpt/tensors/files.h"
#include "ckpt/tensors/json_fields.h"
#include "ckpt/tensors/safetensors.h"

namespace megalith {
namespace {

using nlohmann::json;

std::string our_architectures() {
  std::string list;
  for (const HfFamily* family : hf_families()) list += (list.empty() ? "" : ", ") + std::string(family->architecture);
  return list;
}

// The class without a head: GPT2LMHeadModel -> GPT2Model. Its files hold the same model.
std::string base_architecture(const HfFamily& family) {
  const std::string_view causal = family.architecture;
  return std::string(causal.substr(0, std::min(causal.find("LMHead"), causal.find("For")))) + "Model";
}

const HfFamily* family_of_type(const std::string& model_type) {
  for (const HfFamily* family : hf_families())
    if (family->name == model_type) return family;
  return nullptr;
}

// A class that is not ours is refused. Between two of ours model_type decides, as in transformers.
const HfFamily* read_family(const JsonFields& f) {
  const std::string type = f.text({"model_type"}, "");
  const HfFamily* by_type = family_of_type(type);
  const json* list = f.find({"architectures"});
  if (list != nullptr && list->is_array() && !list->empty()) {
    const json& first = list->front();
    if (!first.is_string()) f.want({"architectures"}, *list, "a list of names");
    for (const HfFamily* family : hf_families())
      if (first == family->architecture || first == family->other_architecture || first == base_architecture(*family))
        return by_type != nullptr ? by_type : family;
    fail("{}: architecture {} is not supported; we have {}", f.where(), first.dump(), our_architectures());
  }
  check(by_type != nullptr, "{}: model_type \"{}\" is not supported; we have {}", f.where(), type, our_architectures());
  return by_type;
}

// Whether the class is the one with a head, not its base or unnamed.
bool names_head(const JsonFields& f, const HfFamily& family) {
  const json* list = f.find({"architectures"});
  return list != nullptr && list->is_array() && !list->empty() && list->front() == family.architecture;
}

DType read_dtype(const JsonFields& f) {
  std::string name = f.text({"dtype", "torch_dtype"}, "auto");
  if (name.starts_with("torch.")) name.erase(0, 6);
  if (name == "float32" || name == "auto") return DType::f32;  // auto: the files say it of each weight
  if (name == "bfloat16") return DType::bf16;
  if (name == "float16") return DType::f16;
  if (name == "float64") return DType::f64;
  fail("{}: dtype = \"{}\" is not supported; float32, bfloat16, float16 and float64 are", f.where(), name);
}

// Of quantized weights only DeepSeek's fp8 is read.
std::optional<Fp8Blocks> read_quantization(const JsonFields& f) {
  if (!f.has("quantization_config")) return std::nullopt;
  const json& q = *f.find({"quantization_config"});
  if (!q.is_object()) f.want({"quantization_config"}, q, "an object");
  const JsonFields fields(q, f.where() + ": quantization_config");
  const std::string method = fields.text({"quant_method"}, ""), format = fields.text({"fmt"}, "e4m3");
  constexpr std::string_view advice = "dequantize the model first, or take its original weights";
  check(method == "fp8", "{}: quant_method is \"{}\": of quantized weights only \"fp8\" in blocks is read; {}",
        fields.where(), method, advice);
  check(format == "e4m3", "{}: fmt is \"{}\": only \"e4m3\" is read; {}", fields.where(), format, advice);
  const json* blocks = fields.find({"weight_block_size"});
  const bool good = blocks != nullptr && blocks->is_array() && blocks->size() == 2 &&
                    std::ranges::all_of(*blocks, [](const json& n) { return n.is_number_unsigned() && n != 0; });
  check(good, "{}: weight_block_size is {}: want [rows, columns] of a block", fields.where(),
        blocks == nullptr ? "missing" : blocks->dump());
  return Fp8Blocks{blocks->at(0), blocks->at(1)};
}

// Refuses settings with which any of these models would compute something else.
void refuse_foreign_settings(const JsonFields& f) {
  f.require("add_cross_attention", false, false);
  check(!f.has("text_config"), "{}: text_config is set: models of text with other inputs are not supported", f.where());
  const json* pruned = f.find({"pruned_heads"});
  check(pruned == nullptr || pruned->empty(), "{}: pruned_heads is set: pruned models are not supported", f.where());
}

}  // namespace

static json parse_object(std::string_view json_text, const std::string& where) {
  check(!is_nested_too_deep(json_text), "{} is nested more than {} levels deep", where, kMaxJsonDepth);
  auto root = parse_json<json>(json_text);
  check(root.is_object(), "{} is not a JSON object: want a Hugging Face config.json", where);
  return root;
}

bool is_our_hf_architecture(std::string_view json_text, const std::string& where) {
  const json root = parse_object(json_text, where);
  try {
    read_family(JsonFields(root, where));
    return true;
  } catch (const Error&) {
    return false;
  }
}

HfConfig parse_hf_config(std::string_view json_text, const std::string& where) {
  const json root = parse_object(json_text, where);
  const JsonFields f(root, where);
  HfConfig c;
  c.family = read_family(f);
  refuse_foreign_settings(f);
  ModelConfig& m = c.model;
  m.vocab_size = f.size({"vocab_size"});
  m.init_method_std = f.number({"initializer_range"}, 0.02);
  c.family->read(f, m);
  constexpr i64 kMaxLayers = 100000, kMaxWidth = 1 << 24, kMaxExperts = 1 << 22;  // the last of all layers
  check(std::max(m.num_layers, m.t5.decoder_num_layers) <= kMaxLayers && m.hidden_size <= kMaxWidth &&
            m.ffn_hidden_size <= 4 * kMaxWidth && m.kv_channels <= kMaxWidth &&
            m.num_layers * m.moe.num_experts <= kMaxExperts && m.expert_width() <= 4 * kMaxWidth,
        "{}: {} layers of width {} and {}: no such model fits any machine", where, m.num_layers, m.hidden_size,
        m.ffn_hidden_size);
  m.seq_length = m.max_position_embeddings;
  c.dtype = read_dtype(f);
  c.fp8 = read_quantization(f);
  c.may_lack_head = !names_head(f, *c.family);
  read_token_ids(f, c);
  return c;
}

// transformers writes of DeepSeek-V3 how many modules of multi-token prediction there were, without their weights.
static bool lacks_modules(const HfConfig& c, const std::string& dir) {
  if (c.model.mtp.num_layers == 0) return false;
  const HfNames names = c.family->names(c.model);
  const std::string name = fmt::format("{}{}.{}.weight", names.layers, c.model.num_layers, names.input_projection);
  const TensorFiles files = TensorFiles::open_directory(dir);
  return files.find(name) == nullptr && files.find(std::string(names.prefix) + name) == nullptr;
}

// Files of bert-base-uncased have it, of whose class (BertForMaskedLM) it is no part.
static bool has_binary_head(const HfConfig& c, const std::string& dir) {
  const std::string name = std::string(c.family->names(c.model).binary_head) + ".weight";
  return TensorFiles::open_directory(dir).find(name) != nullptr;
}

HfConfig read_hf_config(const std::string& dir) {
  const std::string path = dir + "/config.json";
  check(std::filesystem::exists(path), "[hf] {} has no config.json: not a Hugging Face model directory", dir);
  HfConfig c = parse_hf_config(read_text(path), "[hf] " + path);
  if (c.model.untie_embeddings_and_output_weights && c.may_lack_head) {
    const TensorFiles files = TensorFiles::open_directory(dir);
    c.model.untie_embeddings_and_output_weights =
        std::ranges::any_of(hf_head_names(), [&](const std::string& name) { return files.find(name) != nullptr; });
  }
  if (lacks_modules(c, dir)) c.model.mtp.num_layers = 0;
  if (c.model.bert.no_binary_head && has_binary_head(c, dir)) c.model.bert.no_binary_head = false;
  return c;
}

bool is_hf_directory(const std::string& dir) { return std::filesystem::exists(dir + "/config.json"); }

}  // namespace megalith
