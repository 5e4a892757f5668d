// Reads tokenizer.json, or a vocabulary with merges instead, and the accompanying files.
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "tokens/hf/beside.h"
#include "tokens/hf/hf_tokenizer.h"

namespace megalith::hf {

namespace fs = std::filesystem;

namespace {

// The special tokens of the vocabulary, without the padding.
std::vector<i32> other_special(const Beside& beside, const Tokenizer& t) {
  std::vector<i32> ids;
  for (const auto& [key, token] : beside.named)
    if (key != "pad_token" && t.find(token.content) != Tokenizer::kNone) ids.push_back(t.find(token.content));
  return ids;
}

// The end-of-document token if no file names it: the first known one in the vocabulary.
std::string common_eos(const Tokenizer& t) {
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>", "[SEP]"}) {
    if (t.find(name) != Tokenizer::kNone) return name;
  }
  return "";
}

struct Files {
  fs::path folder;
  std::string where;  // the file's name, for errors
  Json file;          // tokenizer.json
  bool whole = true;  // whether there is a tokenizer.json; otherwise vocab.json and merges.txt hold the model
};

Json read_merges(const fs::path& path) {
  std::ifstream in(path);
  check(in.is_open(), "{}: cannot be read: does it exist?", path.string());
  Json merges;
  merges.kind = Json::Kind::list;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with("#version")) continue;
    Json rule;
    rule.kind = Json::Kind::string, rule.string = line;
    merges.items.push_back(std::move(rule));
  }
  return merges;
}

Files read_files(const std::string& model) {
  check(!model.empty(), "HuggingFaceTokenizer needs --tokenizer-model: give a tokenizer.json or a directory with one");
  const fs::path path = model;
  std::error_code ignored;
  check(fs::exists(path, ignored),
        "--tokenizer-model {}: cannot be read: give a tokenizer.json or a directory with one", model);
  if (!fs::is_directory(path, ignored)) return {path.parent_path(), model, read_json(model)};
  const std::string whole = (path / "tokenizer.json").string(), vocab = (path / "vocab.json").string();
  if (fs::exists(whole, ignored)) return {path, whole, read_json(whole)};
  check(
      fs::exists(vocab, ignored) && fs::exists(path / "merges.txt", ignored),
      "--tokenizer-model {}: no tokenizer.json there, nor vocab.json and merges.txt: give the directory that has them",
      model);
  Json parts = json_of(R"({"type": "BPE"})", vocab), file;
  parts.set("vocab", read_json(vocab));
  parts.set("merges", read_merges(path / "merges.txt"));
  file.set("model", std::move(parts));
  return {path, vocab, std::move(file), false};
}

// add_bos_token and add_eos_token count only if no tokenizer.json defines it.
Surround surround_of(const Files& f, const Beside& beside, const HfTokenizer& t) {
  if (f.whole) return read_post_processor(member(f.file, "post_processor"), f.where);
  Surround s;
  const i32 bos = t.find(beside.name("bos_token")), eos = t.find(beside.name("eos_token"));
  if (beside.config.flag("add_bos_token", false, f.where) && bos >= 0) s.before = {bos};
  if (beside.config.flag("add_eos_token", false, f.where) && eos >= 0) s.after = {eos};
  return s;
}

}  // namespace

std::unique_ptr<Tokenizer> make_hugging_face_tokenizer(const TokenizerConfig& c) {
  Files f = read_files(c.tokenizer_model);
  check(f.file.is_object(), "{}: not a JSON object", f.where);
  const Beside beside = read_beside(f.folder, f.file);
  check(f.whole || beside.made_by != nullptr,
        "--tokenizer-model {}: without a tokenizer.json the tokenizer_class of tokenizer_config.json says how text is "
        "cut, and \"{}\" is not supported: give a directory with a tokenizer.json",
        c.tokenizer_model, member(beside.config, "tokenizer_class").string);
  if (beside.made_by) rebuild(f.file, *beside.made_by, beside.config, beside.name("unk_token"), f.where);
  HfParts parts{
      .name = kHuggingFaceType,
      .where = f.where,
      .model = make_model(member(f.file, "model"), f.where),
      .normalizer = member(f.file, "normalizer"),
      .decoder = member(f.file, "decoder"),
      .added_tokens = all_added(beside, f.file, f.where),
      .plan = plan_pre_tokenizer(member(f.file, "pre_tokenizer"), f.where),
      .surround = {},
      .split_special = !c.special_tokens_in_text || beside.config.flag("split_special_tokens", false, f.where)};
  auto t = std::make_unique<HfTokenizer>(std::move(parts));
  if (!c.hf_no_special_tokens) t->set_surround(surround_of(f, beside, *t));
  // As in Megatron, the class token begins a document if no other token does. The separator ends it if no other token
  // does.
  const auto either = [&](const char* first, const char* second) {
    const std::string name = beside.name(first);
    return name.empty() ? beside.name(second) : name;
  };
  const std::string eos = either("eos_token", "sep_token");
  t->set_special(t->find(eos.empty() ? common_eos(*t) : eos), t->find(either("bos_token", "cls_token")),
                 t->find(beside.name("pad_token")));
  t->set_other_special(other_special(beside, *t));
  return t;
}

}  // namespace megalith::hf
