// BERT's vocab.txt.
#include <fstream>

#include "base/check.h"
#include "tokens/hf/hf_tokenizer.h"

namespace megalith::hf {

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

// Appends them to the vocabulary; an existing one keeps its id.
void add_sentinels(Vocabulary& v, i64 count) {
  for (i64 i = 0; i < count; ++i)
    if (const std::string name = sentinel_name(i); v.find(name) == Vocabulary::kNone)
      v.add(name, i32(v.tokens().size()));
}

// The special tokens that the vocabulary has.
AddedList bert_added(const Vocabulary& v, i64 sentinels) {
  AddedList list;
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (v.find(name) != Vocabulary::kNone) list.push_back({.content = name, .normalized = false, .special = true});
  }
  for (i64 i = 0; i < sentinels; ++i)
    list.push_back({.content = sentinel_name(i), .normalized = false, .special = true});
  return list;
}

std::unique_ptr<Tokenizer> make_bert(const TokenizerConfig& c, std::string_view name, bool lower) {
  check(!c.vocab_file.empty(), "{} needs --vocab-file: give the path of vocab.txt", name);
  const std::string& file = c.vocab_file;
  Vocabulary v = read_vocab_txt(file);
  add_sentinels(v, c.vocab_extra_ids);
  const i32 cls = v.find("[CLS]"), sep = v.find("[SEP]"), pad = v.find("[PAD]");
  check(cls >= 0 && sep >= 0 && v.find("[UNK]") >= 0, "{}: [CLS], [SEP] or [UNK] is not among the {} tokens", file,
        v.count());
  HfParts parts{.name = name,
                .where = file,
                .model = nullptr,
                .normalizer = object({"type", "lowercase"}, {text("BertNormalizer"), flag(lower)}),
                .decoder = object({"type"}, {text("WordPiece")}),
                .added_tokens = bert_added(v, c.vocab_extra_ids),
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
