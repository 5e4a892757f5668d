// tokenizer.json and what lies beside it; vocab.txt of BERT.
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "tokens/hf/hf_tokenizer.h"

namespace megalith::hf {

namespace fs = std::filesystem;

namespace {

const Json& part_of(const Json& file, std::string_view key) {
  static const Json null;
  const Json* found = file.find(key);
  return found ? *found : null;
}

// A token's name: a string, or an object with "content"; empty if there is none.
std::string token_name(const Json& config, std::string_view key) {
  const Json& token = part_of(config, key);
  if (token.is_string()) return token.string;
  const Json& content = part_of(token, "content");
  return content.is_string() ? content.string : "";
}

Json read_beside(const fs::path& file, const char* name) {
  const fs::path other = file.parent_path() / name;
  std::error_code ignored;
  return fs::exists(other, ignored) ? read_json(other.string()) : Json();
}

struct Names {
  std::string eos, bos, pad;
};

Names special_names(const Json& config, const Json& map) {
  const auto name = [&](const char* key) {
    const std::string first = token_name(config, key);
    return first.empty() ? token_name(map, key) : first;
  };
  return {name("eos_token"), name("bos_token"), name("pad_token")};
}

// The end of a document where no file beside the tokenizer names it: the first of the common ones.
std::string common_eos(const Tokenizer& t) {
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>", "[SEP]"}) {
    if (t.find(name) != Tokenizer::kNone) return name;
  }
  return "";
}

// Llama's and Gemma's classes add bos and eos as their settings say, whatever the post-processor is.
void follow_class(HfTokenizer& t, const Json& config, const Names& names) {
  const std::string type = config.text("tokenizer_class", "", t.parts().where);
  const bool follows = type.starts_with("LlamaTokenizer") || type.starts_with("GemmaTokenizer");
  if (!follows || (!config.find("add_bos_token") && !config.find("add_eos_token"))) return;
  Surround s;
  if (config.flag("add_bos_token", true, t.parts().where) && t.find(names.bos) >= 0) s.before = {t.find(names.bos)};
  if (config.flag("add_eos_token", false, t.parts().where) && t.find(names.eos) >= 0) s.after = {t.find(names.eos)};
  t.set_surround(s);
}

fs::path tokenizer_file(const std::string& model) {
  check(!model.empty(), "HuggingFaceTokenizer needs --tokenizer-model: give a tokenizer.json or a directory with one");
  const fs::path path = model;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    check(fs::exists(path, ignored),
          "--tokenizer-model {}: cannot be read: give a tokenizer.json or a directory with one (nothing is downloaded)",
          model);
    return path;
  }
  const fs::path file = path / "tokenizer.json";
  check(fs::exists(file, ignored), "--tokenizer-model {}: no tokenizer.json there: give the directory that has it",
        model);
  return file;
}

}  // namespace

std::unique_ptr<Tokenizer> make_hugging_face_tokenizer(const TokenizerConfig& c) {
  const fs::path path = tokenizer_file(c.tokenizer_model);
  const std::string where = path.string();
  const Json file = read_json(where);
  check(file.is_object(), "{}: not a JSON object", where);
  HfParts parts{.name = kHuggingFaceType,
                .where = where,
                .model = make_model(part_of(file, "model"), where),
                .normalizer = part_of(file, "normalizer"),
                .decoder = part_of(file, "decoder"),
                .added_tokens = part_of(file, "added_tokens"),
                .plan = plan_pre_tokenizer(part_of(file, "pre_tokenizer"), where),
                .surround = read_post_processor(part_of(file, "post_processor"), where),
                .split_special = !c.special_tokens_in_text};
  auto t = std::make_unique<HfTokenizer>(std::move(parts));
  const Json config = read_beside(path, "tokenizer_config.json");
  Names names = special_names(config, read_beside(path, "special_tokens_map.json"));
  follow_class(*t, config, names);
  if (c.hf_no_special_tokens) t->set_surround({});
  if (names.eos.empty()) names.eos = common_eos(*t);
  t->set_special(t->find(names.eos), t->find(names.bos), t->find(names.pad));
  return t;
}

namespace {

Vocabulary read_vocab_txt(const std::string& file) {
  std::ifstream in(file);
  check(in.is_open(), "--vocab-file {}: cannot be read: does it exist?", file);
  Vocabulary v;
  std::string line;
  for (i32 id = 0; std::getline(in, line); ++id) {
    line.erase(line.find_last_not_of(" \t\r\n\v\f") + 1);
    v.add(line, id);
  }
  check(v.count() > 0, "{}: no tokens: want one per line", file);
  return v;
}

Json object(std::vector<std::string> keys, std::vector<Json> items) {
  Json j;
  j.kind = Json::Kind::object, j.keys = std::move(keys), j.items = std::move(items);
  return j;
}
Json text(std::string_view s) {
  Json j;
  j.kind = Json::Kind::string, j.string = s;
  return j;
}
Json flag(bool b) {
  Json j;
  j.kind = Json::Kind::boolean, j.boolean = b;
  return j;
}

// The special tokens that the vocabulary has, as a tokenizer.json would list them.
Json bert_added(const Vocabulary& v) {
  Json list;
  list.kind = Json::Kind::list;
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (v.find(name) == Vocabulary::kNone) continue;
    list.items.push_back(object({"content", "special", "normalized"}, {text(name), flag(true), flag(false)}));
  }
  return list;
}

std::unique_ptr<Tokenizer> make_bert(const TokenizerConfig& c, std::string_view name, bool lower) {
  check(!c.vocab_file.empty(), "{} needs --vocab-file: give the path of vocab.txt", name);
  const std::string& file = c.vocab_file;
  Vocabulary v = read_vocab_txt(file);
  const i32 cls = v.find("[CLS]"), sep = v.find("[SEP]"), pad = v.find("[PAD]");
  check(cls >= 0 && sep >= 0 && v.find("[UNK]") >= 0, "{}: [CLS], [SEP] or [UNK] is not among the {} tokens", file,
        v.count());
  HfParts parts{.name = name,
                .where = file,
                .model = nullptr,
                .normalizer = object({"type", "lowercase"}, {text("BertNormalizer"), flag(lower)}),
                .decoder = object({"type"}, {text("WordPiece")}),
                .added_tokens = bert_added(v),
                .plan = plan_pre_tokenizer(object({"type"}, {text("BertPreTokenizer")}), file),
                .surround = {},
                .split_special = !c.special_tokens_in_text};
  parts.model = make_word_piece(std::move(v), {});
  if (!c.hf_no_special_tokens) parts.surround = {{cls}, {sep}};
  auto t = std::make_unique<HfTokenizer>(std::move(parts));
  t->set_special(sep, cls, pad);
  return t;
}

}  // namespace

std::unique_ptr<Tokenizer> make_bert_lower_tokenizer(const TokenizerConfig& c) {
  return make_bert(c, "BertWordPieceLowerCase", true);
}
std::unique_ptr<Tokenizer> make_bert_case_tokenizer(const TokenizerConfig& c) {
  return make_bert(c, "BertWordPieceCase", false);
}

}  // namespace megalith::hf
