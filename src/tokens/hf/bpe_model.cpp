// BPE on characters, with tokens for bytes and for unknown characters. BPE on bytes, if the vocabulary has GPT-2's
// whole alphabet and the pieces are written in it.
#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/escape.h"
#include "tokens/byte_alphabet.h"
#include "tokens/hf/model.h"
#include "tokens/piece_encoder.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

constexpr std::string_view kMark = "\u2581";

struct BpeOptions {
  std::optional<std::string> unknown;
  std::string prefix, suffix;
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};

class BpeModel : public Model {
 public:
  BpeModel(Vocabulary v, ByteBpe bpe, BpeOptions options, bool all_bytes);
  std::unique_ptr<ModelEncoder> encoder() const override;
  const ByteBpe* byte_bpe() const override { return all_bytes_ ? &bpe_ : nullptr; }

  ByteBpe bpe_;
  BpeOptions options_;
  bool all_bytes_;
  bool cuts_at_marks_ = false;  // no rule merges a character with a U+2581 after it
  std::vector<i32> byte_tokens_;
  i32 unknown_ = Vocabulary::kNone;
};

// BPE on characters, as a Model of PieceEncoder.
class CharBpe {
 public:
  explicit CharBpe(const BpeModel& model) : m_(model), encoder_(model.bpe_.merges) {}
  size_t max_ids(size_t size) const { return size; }

  size_t encode(const u8* piece, size_t size, i32* out) {
    const std::string_view text(reinterpret_cast<const char*>(piece), size);
    if (m_.options_.ignore_merges) {
      const i32 id = m_.vocabulary().find(text);
      if (id != Vocabulary::kNone) return *out = id, 1;
    }
    symbols_.clear();
    unknown_run_ = false;
    for (size_t i = 0; i < size;) {
      const size_t end = i + read_utf8(piece + i, size - i).length;
      add_symbol(text.substr(i, end - i), i == 0, end == size);
      i = end;
    }
    end_unknown_run();
    return encoder_.encode(symbols_.data(), symbols_.size(), out);
  }

 private:
  void add_symbol(std::string_view c, bool is_first, bool is_last) {
    const BpeOptions& o = m_.options_;
    const bool decorated = (!is_first && !o.prefix.empty()) || (is_last && !o.suffix.empty());
    if (decorated) {
      room_.assign(is_first ? "" : o.prefix).append(c).append(is_last ? o.suffix : "");
      c = room_;
    }
    const i32 id = m_.vocabulary().find(c);
    if (id != Vocabulary::kNone) {
      end_unknown_run();
      symbols_.push_back(u32(id));
    } else if (!(o.byte_fallback && add_bytes(c)) && o.unknown) {
      if (m_.unknown_ == Vocabulary::kNone)
        fail("the unk_token \"{}\" of the tokenizer is not in its vocabulary", escape_controls(*o.unknown));
      if (!o.fuse_unknown) end_unknown_run();
      unknown_run_ = true;
    }
  }

  bool add_bytes(std::string_view c) {
    for (char b : c) {
      if (m_.byte_tokens_[u8(b)] == Vocabulary::kNone) return false;
    }
    for (char b : c) symbols_.push_back(u32(m_.byte_tokens_[u8(b)]));
    return true;
  }

  void end_unknown_run() {
    if (unknown_run_) symbols_.push_back(u32(m_.unknown_));
    unknown_run_ = false;
  }

  const BpeModel& m_;
  BpeEncoder encoder_;
  std::vector<u32> symbols_;
  std::string room_;
  bool unknown_run_ = false;
};

class BpeModelEncoder : public ModelEncoder {
 public:
  explicit BpeModelEncoder(const BpeModel& model) : pieces_(CharBpe(model)), cuts_(model.cuts_at_marks_) {}

  void encode(std::string_view text, size_t begin, size_t end, std::vector<i32>& out) override {
    const auto* bytes = reinterpret_cast<const u8*>(text.data());
    while (begin < end) {
      const size_t stop = cuts_ ? next_mark(text, begin, end) : end;
      pieces_.add(bytes + begin, stop - begin, text.size() - begin, out);
      begin = stop;
    }
  }
  void finish(std::vector<i32>& out) override { pieces_.flush(out); }

 private:
  // The next mark after another character, or the end.
  static size_t next_mark(std::string_view text, size_t begin, size_t end) {
    while (begin < end && text.substr(begin).starts_with(kMark)) begin += kMark.size();
    if (begin >= end) return end;
    return std::min(text.find(kMark, begin), end);
  }

  PieceEncoder<CharBpe> pieces_;
  bool cuts_;
};

BpeModel::BpeModel(Vocabulary v, ByteBpe bpe, BpeOptions options, bool all_bytes)
    : Model(std::move(v)), bpe_(std::move(bpe)), options_(std::move(options)), all_bytes_(all_bytes) {
  byte_tokens_ = byte_tokens(vocabulary_);
  if (options_.unknown) unknown_ = vocabulary_.find(*options_.unknown);
}

std::unique_ptr<ModelEncoder> BpeModel::encoder() const { return std::make_unique<BpeModelEncoder>(*this); }

struct MergePair {
  std::string left, right;
};

MergePair parse_merge(const Json& item, size_t number, std::string_view where) {
  if (item.is_string()) {
    const size_t space = item.string.find(' ');
    const bool ok = space != std::string::npos && item.string.find(' ', space + 1) == std::string::npos;
    check(ok, "{}: merge {} is \"{}\": want two tokens and one space", where, number, item.string.substr(0, 80));
    return {item.string.substr(0, space), item.string.substr(space + 1)};
  }
  const bool ok = item.is_list() && item.items.size() == 2 && item.items[0].is_string() && item.items[1].is_string();
  check(ok, "{}: merge {} is neither \"a b\" nor [\"a\", \"b\"]", where, number);
  return {item.items[0].string, item.items[1].string};
}

struct Merges {
  std::vector<BpeMerges::Rule> rules;
  bool cross_marks = false;  // whether a rule merges a character with a U+2581 after it
};

Merges read_merges(const Json& spec, const Vocabulary& v, const std::string& prefix, std::string_view where) {
  Merges m;
  const std::vector<Json>& list = spec.list("merges", where);
  for (size_t i = 0; i < list.size(); ++i) {
    if (i == 0 && list[i].is_string() && list[i].string.starts_with("#version")) continue;
    const MergePair pair = parse_merge(list[i], i, where);
    const auto id_of = [&](const std::string& token) {
      const i32 id = v.find(token);
      check(id != Vocabulary::kNone, "{}: merge {} needs the token \"{}\", which is not in the vocabulary", where, i,
            token.substr(0, 80));
      return u32(id);
    };
    check(pair.right.size() >= prefix.size(),
          "{}: merge {} has \"{}\", shorter than the continuing_subword_prefix \"{}\"", where, i, pair.right, prefix);
    const std::string joined = pair.left + pair.right.substr(prefix.size());
    m.rules.push_back({id_of(pair.left), id_of(pair.right), {u32(m.rules.size()), id_of(joined)}});
    m.cross_marks |= pair.right.starts_with(kMark) && !pair.left.ends_with(kMark);
  }
  return m;
}

// The bytes of a token in GPT-2's alphabet. Empty if it has other characters.
std::vector<std::string> bytes_of_tokens(const Vocabulary& v) {
  std::vector<std::string> tokens;
  for (const std::string& token : v.tokens()) tokens.push_back(is_in_byte_alphabet(token) ? bytes_of_token(token) : "");
  return tokens;
}

}  // namespace

std::unique_ptr<Model> make_bpe(const Json& spec, std::string_view where) {
  const Json* vocab = spec.find("vocab");
  check(vocab && vocab->is_object(), "{}: \"vocab\" is missing or not an object", where);
  const Json* dropout = spec.find("dropout");
  check(!dropout || dropout->is_null() || (dropout->kind == Json::Kind::number && dropout->number == 0),
        "{}: dropout is not supported: set it to null", where);
  BpeOptions o;
  if (const Json* unknown = spec.find("unk_token"); unknown && !unknown->is_null())
    o.unknown = spec.text("unk_token", "", where);
  o.prefix = spec.text("continuing_subword_prefix", "", where);
  o.suffix = spec.text("end_of_word_suffix", "", where);
  o.fuse_unknown = spec.flag("fuse_unk", false, where);
  o.byte_fallback = spec.flag("byte_fallback", false, where);
  o.ignore_merges = spec.flag("ignore_merges", false, where);
  Vocabulary v = Vocabulary::of_object(*vocab, where);
  const Merges merges = read_merges(spec, v, o.prefix, where);
  std::array<u32, 256> bytes{};
  bool all_bytes = o.prefix.empty() && o.suffix.empty();
  for (int b = 0; b < 256; ++b) {
    std::string letter;
    append_utf8(letter, byte_alphabet()[size_t(b)]);
    const i32 id = v.find(letter);
    all_bytes &= id != Vocabulary::kNone;
    bytes[size_t(b)] = id == Vocabulary::kNone ? 0 : u32(id);
  }
  ByteBpe bpe{BpeMerges(bytes, merges.rules)};
  if (all_bytes && o.ignore_merges) bpe.keep_whole(bytes_of_tokens(v), 0);
  // If unknown characters are dropped, two marks may become neighbours.
  const bool cuts = !merges.cross_marks && o.unknown && !o.ignore_merges && o.prefix.empty() && o.suffix.empty() &&
                    v.find(kMark) != Vocabulary::kNone;
  auto model = std::make_unique<BpeModel>(std::move(v), std::move(bpe), std::move(o), all_bytes);
  model->cuts_at_marks_ = cuts;
  return model;
}

}  // namespace megalith::hf
