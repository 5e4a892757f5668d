#include "cli/export_tokenizer.h"

#include "base/log.h"
#include "base/one_line.h"
#include "base/parse_json.h"
#include "ckpt/tensors/files.h"
#include "resume/stored_model.h"
#include "tokens/tokenizer.h"
#include "train/t5_tokens.h"

namespace megalith {

using nlohmann::ordered_json;

namespace {

constexpr const char* kConfig = "tokenizer_config.json";

// Without a type if there are no files of a tokenizer.
TokenizerConfig tokenizer_of(const SideFiles& files) {
  const auto path = [&](const char* name) { return files.copied.at(name).string(); };
  TokenizerConfig c;
  if (files.has("tokenizer.json"))
    c.type = "HuggingFaceTokenizer", c.tokenizer_model = path("tokenizer.json");
  else if (files.has("vocab.json") && files.has("merges.txt"))
    c.type = "GPT2BPETokenizer", c.vocab_file = path("vocab.json"), c.merge_file = path("merges.txt");
  else if (files.has("tokenizer.model"))
    c.type = "SentencePieceTokenizer", c.tokenizer_model = path("tokenizer.model");
  else if (files.has("vocab.txt"))
    c.type = "BertWordPieceCase", c.vocab_file = path("vocab.txt");
  return c;
}

std::unique_ptr<Tokenizer> open_tokenizer(const TokenizerConfig& config) {
  if (config.type.empty()) return nullptr;
  try {
    return make_tokenizer(config);
  } catch (const std::exception& e) {
    log::warn("the tokenizer can't be read, so its special tokens are unknown: {}; give --tokenizer-dir", one_line(e));
    return nullptr;
  }
}

// A token's text in the vocabulary. "" if unknown.
std::string name_of_token(const Tokenizer& t, i32 id) {
  if (id < 0) return "";
  for (const char* usual : {"<s>", "</s>", "<pad>", "<bos>", "<eos>"})  // pieces whose text is empty
    if (t.find(usual) == id) return usual;
  const std::string text = t.decode(std::span(&id, 1));
  return t.find(text) == id || t.name() == "GPT2BPETokenizer" ? text : "";
}

// The class that reads the files, with its settings. Empty if transformers has none.
ordered_json class_of(const SideFiles& files, const TokenizerConfig& config) {
  if (files.has("tokenizer.json")) return {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (files.has("vocab.json") && files.has("merges.txt")) return {{"tokenizer_class", "GPT2Tokenizer"}};
  // Llama's class assumes BPE; the general class checks it.
  const bool llama = config.type == "Llama2Tokenizer", pieces = config.type.find("SentencePiece") != std::string::npos;
  if (files.has("tokenizer.model") && (llama || pieces))
    return {{"tokenizer_class", llama ? "LlamaTokenizer" : "PreTrainedTokenizerFast"}, {"add_bos_token", false}};
  if (files.has("vocab.txt"))
    return {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", config.type == "BertWordPieceLowerCase"}};
  return {};
}

void tell_ids(const Tokenizer& t, i64 vocab_size, ConvertOptions& options) {
  const auto tell = [&](i32 id, std::vector<i64>& ids) {
    if (id >= 0 && id < vocab_size) ids = {id};
  };
  tell(t.bos(), options.bos_token_ids), tell(t.eod(), options.eos_token_ids), tell(t.pad(), options.pad_token_ids);
}

// The ids of a T5's samples: first token, last token, padding.
void tell_t5_ids(const Tokenizer* t, i64 vocab_size, ConvertOptions& options) {
  const T5Tokens tokens = t ? t5_tokens(*t) : last_t5_tokens(vocab_size);
  options.decoder_start = tokens.bos, options.eos_token_ids = {tokens.eos}, options.pad_token_ids = {tokens.pad};
}

void tell_class(const SideFiles& files, const TokenizerConfig& config, const Tokenizer& t, ConvertOptions& options) {
  ordered_json told = class_of(files, config);
  if (told.is_null()) return log::say("{} has no files that transformers reads: no tokenizer is written", t.name());
  if (files.has(kConfig)) {
    auto there = parse_json<ordered_json>(read_text(files.copied.at(kConfig).string()));
    if (!there.is_object() || there.contains("tokenizer_class")) return;
    told.update(there);
  }
  const auto name = [&](const char* key, i32 id) {
    const std::string text = name_of_token(t, id);
    if (!text.empty() && !told.contains(key)) told[key] = text;
  };
  name("bos_token", t.bos()), name("eos_token", t.eod()), name("pad_token", t.pad());
  for (i64 i = 0; i < config.vocab_extra_ids; ++i) told["additional_special_tokens"].push_back(sentinel_name(i));
  options.made_files[kConfig] = told.dump(2) + "\n";
}

}  // namespace

void describe_tokenizer(const AnyCheckpoint& from, bool by_files, ConvertOptions& options) {
  if (from.foreign()) return;
  const SideFiles files = find_side_files(options.asset_dirs, from.manifest.config_json);
  TokenizerConfig config = by_files ? TokenizerConfig() : stored_tokenizer(from);
  if (config.type.empty()) config = tokenizer_of(files);
  if (config.vocab_size == 0)
    config.vocab_size = from.model->vocab_size;  // the vocabulary size of NullTokenizer, which is the model's
  const auto tokenizer = open_tokenizer(config);
  if (tokenizer) tell_ids(*tokenizer, from.model->vocab_size, options);
  if (from.model->is_t5() && (tokenizer || config.type.empty()))
    tell_t5_ids(tokenizer.get(), from.model->vocab_size, options);
  if (!tokenizer) return;
  if (from.hf_config.empty()) tell_class(files, config, *tokenizer, options);
}

}  // namespace megalith
