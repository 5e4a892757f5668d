#include "cli/golden/megatron_case.h"

#include "base/json_field.h"
#include "base/parse_json.h"
#include "ckpt/tensors/files.h"
#include "cli/golden/encoder_form.h"
#include "settings/options.h"

namespace megalith {
namespace {

using nlohmann::json;

// The optimizer of the generators: in their own words, and as flags.
constexpr const char* kOptimizer =
    "AdamW lr 1e-3 betas 0.9,0.95 eps 1e-8 weight_decay 0.1 on matrices and 0 on vectors, clip 1.0";
constexpr const char* kOptimizerFlags[] = {"--lr",       "1e-3", "--adam-beta1",   "0.9", "--adam-beta2", "0.95",
                                           "--adam-eps", "1e-8", "--weight-decay", "0.1", "--clip-grad",  "1.0"};
constexpr const char* kEncoderOptimizer =
    "AdamW lr 1e-3 betas 0.9,0.95 eps 1e-8, weight_decay 0.1 on tensors of 2 dims and more";
// Flags of every run. The check has its own batches.
constexpr const char* kRunFlags[] = {"--mock-data", "--train-iters", "3", "--eval-iters", "0"};

json read_config(const std::string& dir) {
  const json j = parse_json<json>(read_text(dir + "/config.json"));
  check(j.is_object(), "{}/config.json is no JSON object", dir);
  return j;
}

std::string word_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// A switch, a value or several values. --moe-layer-freq takes a list as one word.
void add_words(const std::string& name, const json& value, std::vector<std::string>& words) {
  if (value.is_boolean() && !value.get<bool>()) return;
  words.push_back("--" + name);
  if (value.is_boolean()) {
    if (name == "no-bias-gelu-fusion") words.push_back("--gelu");  // without its fused kernel Megatron's GELU is exact
  } else if (value.is_array() && name != "moe-layer-freq") {
    for (const json& v : value) words.push_back(word_of(v));
  } else {
    words.push_back(word_of(value));
  }
}

Options options_of(std::vector<std::string> words) {
  words.insert(words.begin(), "golden-check");
  words.insert(words.end(), std::begin(kOptimizerFlags), std::end(kOptimizerFlags));
  words.insert(words.end(), std::begin(kRunFlags), std::end(kRunFlags));
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_options(int(argv.size()), argv.data());
}

// Settings in these cases in addition to plain flags.
void add_encoder_words(const std::string& name, const json& value, std::vector<std::string>& words) {
  if (name == "--spec" || name == "--transformer-impl") return;  // the implementation that computed it
  if (name.starts_with("position_embedding_type"))
    words.insert(words.end(), {"--position-embedding-type", value.get<std::string>()});
  else if (name.starts_with("retro_chunk_length"))
    words.insert(words.end(), {"--retro-chunk-length", value.dump()});
  else if (name.starts_with("retro_encoder_num_layers"))
    words.insert(words.end(), {"--retro-encoder-layers", value.dump()});
  else if (name.starts_with("--padded-vocab-size"))
    words.insert(words.end(), {"--vocab-size", value.dump()});
  else
    add_words(name.substr(2), value, words);
}

}  // namespace

EncoderCase read_encoder_case(const std::string& dir) {
  const json j = read_config(dir);
  const std::string optimizer = field_as<std::string>(j, "optimizer");
  check(optimizer.starts_with(kEncoderOptimizer), "{}/config.json: the optimizer is {}: want {}", dir,
        shown(j["optimizer"]), kEncoderOptimizer);
  std::vector<std::string> words = {"--architecture", field_as<std::string>(j, "model"), "--micro-batch-size", "1"};
  for (const auto& [name, value] : field(j, "flags").items()) add_encoder_words(name, value, words);
  if (j.contains("final_layernorm") && j["final_layernorm"] == false) words.push_back("--retro-no-final-layernorm");
  const Options options = options_of(std::move(words));
  return {options.model, options.optimizer, field_as<std::vector<std::string>>(j, "after10_sumsq_order")};
}

bool is_encoder_case(const std::string& dir) { return read_config(dir).contains("after10_sumsq_order"); }

bool is_megatron_case(const std::string& dir) { return read_config(dir).contains("flags"); }

MegatronCase read_megatron_case(const std::string& dir) {
  const json j = read_config(dir);
  const std::string optimizer = field_as<std::string>(j, "optimizer");
  check(optimizer == kOptimizer, "{}/config.json: the optimizer is {}: want {}", dir, shown(j["optimizer"]),
        kOptimizer);
  std::vector<std::string> words;
  for (const auto& [name, value] : field(j, "flags").items()) add_words(name, value, words);
  const Options options = options_of(std::move(words));
  MegatronCase out;
  out.model = options.model, out.optimizer = options.optimizer;
  out.micro_batches = int(count_field(j, "micro_batches"));
  check(out.micro_batches >= 1, "{}/config.json: a step has {} micro-batches: want 1 or more", dir, out.micro_batches);
  out.moe_layers = field_as<std::vector<std::string>>(j, "moe_layers");
  return out;
}

}  // namespace megalith
