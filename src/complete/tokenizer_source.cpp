#include "complete/tokenizer_source.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/parse_json.h"
#include "ckpt/tensors/files.h"
#include "complete/absent_tokenizer.h"
#include "complete/hub_names.h"

namespace megalith {

namespace fs = std::filesystem;

// Of a directory with a vocab.txt, as in BertTokenizer of transformers. Sentinels follow the vocabulary.
static TokenizerConfig tokenizer_of_words(const std::string& dir, TokenizerConfig c) {
  c.type = "BertWordPieceLowerCase", c.vocab_file = dir + "/vocab.txt";
  const std::string path = dir + "/tokenizer_config.json";
  if (!fs::exists(path)) return c;
  const auto told = parse_json<nlohmann::json>(read_text(path));
  check(told.is_object(), "{} is not a JSON object", path);
  if (const auto lower = told.find("do_lower_case"); lower != told.end() && *lower == false)
    c.type = "BertWordPieceCase";
  if (const auto more = told.find("additional_special_tokens"); more != told.end() && more->is_array())
    while (std::ranges::count(*more, nlohmann::json(sentinel_name(c.vocab_extra_ids))) > 0) ++c.vocab_extra_ids;
  return c;
}

TokenizerConfig choose_tokenizer(const TokenizerConfig& flags, const StoredModel& stored, const std::string& dir) {
  TokenizerConfig c = flags;
  if (!flags.type.empty()) {
    if (c.vocab_size == 0)
      c.vocab_size = stored.model.vocab_size;  // the vocabulary size of NullTokenizer, which is the model's
    return c;
  }
  if (!stored.tokenizer.type.empty()) return stored.tokenizer;
  c = {};
  c.hf_no_special_tokens = flags.hf_no_special_tokens;
  if (fs::exists(dir + "/tokenizer.json")) {
    c.type = "HuggingFaceTokenizer", c.tokenizer_model = dir;
  } else if (fs::exists(dir + "/vocab.json") && fs::exists(dir + "/merges.txt")) {
    const bool says_more = fs::exists(dir + "/tokenizer_config.json") || fs::exists(dir + "/added_tokens.json") ||
                           fs::exists(dir + "/special_tokens_map.json");
    if (says_more) c.type = "HuggingFaceTokenizer", c.tokenizer_model = dir;
    if (says_more) return c;
    c.type = "GPT2BPETokenizer", c.vocab_file = dir + "/vocab.json", c.merge_file = dir + "/merges.txt";
  } else if (fs::exists(dir + "/vocab.txt")) {
    return tokenizer_of_words(dir, c);
  }
  return c;
}

std::unique_ptr<Tokenizer> find_tokenizer(const TokenizerConfig& flags, const StoredModel& stored,
                                          const std::string& dir) {
  const TokenizerConfig c = choose_tokenizer(flags, stored, dir);
  return c.type.empty() ? nullptr : make_tokenizer(c);
}

static TokenizerConfig with_type(const TokenizerConfig& flags, const StoredModel& stored, Architecture kind) {
  TokenizerConfig t = flags;
  if (t.type.empty() && !stored.tokenizer.type.empty()) t = stored.tokenizer;
  if (t.type.empty() && !t.vocab_file.empty() && !t.merge_file.empty()) t.type = "GPT2BPETokenizer";
  const bool is_bert = kind == Architecture::bert;  // pretrain_bert.py
  if (t.type.empty() && !t.vocab_file.empty() && is_bert) t.type = "BertWordPieceLowerCase";
  return t;
}

// For a plan without the tokenizer's files: true if the size of its vocabulary is public or given.
static bool plan_without_files(TokenizerSource& out, const VocabularyUse& use) {
  const std::string file = absent_file(out.config);
  if (!use.files_may_lack || file.empty()) return false;
  const i64 entries = use.vocab_size != 0 ? use.vocab_size : public_vocabulary(out.config).value_or(0);
  if (entries != 0) out.entries = entries, out.absent = file;
  return entries != 0;
}

TokenizerSource read_tokenizer(const TokenizerConfig& flags, const StoredModel& stored, const std::string& dir,
                               const VocabularyUse& use) {
  TokenizerSource out{.config = with_type(flags, stored, use.architecture)};
  try {
    find_tokenizer_on_hub(out.config);
  } catch (const Error&) {
    if (!plan_without_files(out, use)) throw;
  }
  if (!out.absent.empty() || plan_without_files(out, use)) return out;
  if (out.config.type == "NullTokenizer" || out.config.type == "TikTokenizer") out.config.vocab_size = use.vocab_size;
  const TokenizerConfig chosen = choose_tokenizer(out.config, stored, dir);
  if (use.run_asks) out.config = chosen;
  if (chosen.type.empty()) return out;
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(chosen);
  out.entries = tokenizer->vocab_size(), out.eod = tokenizer->eod(), out.pad = tokenizer->pad();
  out.pad_is_special = tokenizer->is_special(tokenizer->pad());
  return out;
}

}  // namespace megalith
