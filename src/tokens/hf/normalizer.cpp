#include "tokens/hf/normalizer.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/byte_alphabet.h"
#include "tokens/hf/charsmap.h"
#include "tokens/hf/code_sets.h"
#include "tokens/hf/regex.h"
#include "tokens/hf/unicode_forms.h"
#include "tokens/tiktoken_ranks.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

template <class F>
void for_each_char(std::string_view text, F&& f) {
  const auto* bytes = reinterpret_cast<const u8*>(text.data());
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = read_utf8(bytes + i, text.size() - i);
    f(c.code_point, text.substr(i, c.length));
    i += c.length;
  }
}

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(Form form) : form_(form) {}
  std::string_view apply(std::string_view text) override { return normalize(form_, text, room_); }
  bool keeps_bytes() const override { return true; }

 private:
  Form form_;
  std::string room_;
};

// Maps each character to the text that replaces it.
template <class F>
class CharNormalizer : public Normalizer {
 public:
  explicit CharNormalizer(F f) : f_(std::move(f)) {}
  std::string_view apply(std::string_view text) override {
    room_.clear();
    for_each_char(text, [&](u32 c, std::string_view bytes) { f_(room_, c, bytes); });
    return room_;
  }

 private:
  F f_;
  std::string room_;
};

template <class F>
std::unique_ptr<Normalizer> per_char(F f) {
  return std::make_unique<CharNormalizer<F>>(std::move(f));
}

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> all) : all_(std::move(all)) {}
  std::string_view apply(std::string_view text) override {
    for (auto& n : all_) text = n->apply(text);
    return text;
  }
  bool keeps_bytes() const override {
    return std::all_of(all_.begin(), all_.end(), [](const auto& n) { return n->keeps_bytes(); });
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> all_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : prefix_(std::move(text)) {}
  std::string_view apply(std::string_view text) override {
    if (text.empty()) return text;
    room_.assign(prefix_).append(text);
    return room_;
  }

 private:
  std::string prefix_, room_;
};

class ReplaceText : public Normalizer {
 public:
  ReplaceText(std::string what, std::string with) : what_(std::move(what)), with_(std::move(with)) {}
  std::string_view apply(std::string_view text) override {
    size_t at = text.find(what_);
    if (at == std::string_view::npos) return text;
    room_.clear();
    size_t done = 0;
    for (; at != std::string_view::npos; at = text.find(what_, done)) {
      room_.append(text, done, at - done).append(with_);
      done = at + what_.size();
    }
    room_.append(text, done);
    return room_;
  }

 private:
  std::string what_, with_, room_;
};

class ReplaceRegex : public Normalizer {
 public:
  ReplaceRegex(Regex regex, std::string with) : regex_(std::move(regex)), with_(std::move(with)) {}
  std::string_view apply(std::string_view text) override {
    regex_.find_all(text, found_);
    if (found_.empty()) return text;
    room_.clear();
    size_t done = 0;
    for (const Span& s : found_) {
      room_.append(text, done, s.begin - done).append(with_);
      done = s.end;
    }
    room_.append(text, done);
    return room_;
  }

 private:
  Regex regex_;
  std::string with_, room_;
  std::vector<Span> found_;
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  std::string_view apply(std::string_view text) override {
    size_t begin = std::string_view::npos, end = 0, at = 0;
    for_each_char(text, [&](u32 c, std::string_view bytes) {
      if (!is_space(c)) begin = std::min(begin, at), end = at + bytes.size();
      at += bytes.size();
    });
    if (end == 0) return left_ || right_ ? std::string_view() : text;
    if (right_) text = text.substr(0, end);
    return left_ ? text.substr(begin) : text;
  }

 private:
  bool left_, right_;
};

// If a grapheme cluster of less than six bytes begins with a key, the key's replacement replaces it. Otherwise its
// characters are replaced one by one.
class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(Charsmap map) : map_(std::move(map)) {}
  std::string_view apply(std::string_view text) override {
    room_.clear();
    for (size_t i = 0; i < text.size();) {
      const size_t end = grapheme_end(text, i);
      const std::string_view grapheme = text.substr(i, end - i);
      const auto found = grapheme.size() < 6 ? map_.shortest(grapheme) : std::nullopt;
      if (found) {
        room_ += *found;
      } else {
        for_each_char(grapheme, [&](u32, std::string_view c) { room_ += map_.shortest(c).value_or(c); });
      }
      i = end;
    }
    return room_;
  }

 private:
  Charsmap map_;
  std::string room_;
};

bool is_cjk(u32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::unique_ptr<Normalizer> lowercase() {
  return per_char([](std::string& out, u32 c, std::string_view) { append_lower(out, c); });
}

std::unique_ptr<Normalizer> make_bert(const Json& spec, std::string_view where) {
  const bool lower = spec.flag("lowercase", true, where);
  std::vector<std::unique_ptr<Normalizer>> all;
  if (spec.flag("clean_text", true, where)) {
    all.push_back(per_char([](std::string& out, u32 c, std::string_view bytes) {
      if (!bert_control()[c]) is_space(c) ? out += ' ' : out += bytes;
    }));
  }
  if (spec.flag("handle_chinese_chars", true, where)) {
    all.push_back(per_char([](std::string& out, u32 c, std::string_view bytes) {
      is_cjk(c) ? out.append(" ").append(bytes).append(" ") : out.append(bytes);
    }));
  }
  if (spec.flag("strip_accents", lower, where)) {
    all.push_back(std::make_unique<FormNormalizer>(Form::nfd));
    all.push_back(per_char([](std::string& out, u32 c, std::string_view bytes) {
      if (!bert_accents()[c]) out += bytes;
    }));
  }
  if (lower) all.push_back(lowercase());
  return std::make_unique<SequenceNormalizer>(std::move(all));
}

// SentencePiece's old rules: some control characters are removed, others become spaces.
std::unique_ptr<Normalizer> make_nmt() {
  return per_char([](std::string& out, u32 c, std::string_view bytes) {
    const bool gone = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                       c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    if (!gone) space ? out += ' ' : out += bytes;
  });
}

std::unique_ptr<Normalizer> make_replace(const Json& spec, std::string_view where) {
  const Json* pattern = spec.find("pattern");
  const Json* text = pattern ? pattern->find("String") : nullptr;
  const Json* regex = pattern ? pattern->find("Regex") : nullptr;
  const std::string with = spec.text("content", "", where);
  if (text && text->is_string() && !text->string.empty()) return std::make_unique<ReplaceText>(text->string, with);
  if (text && text->is_string()) return std::make_unique<ReplaceRegex>(Regex("", where), with);
  check(regex && regex->is_string(), "{}: Replace needs a pattern: {{\"String\": ...}} or {{\"Regex\": ...}}", where);
  return std::make_unique<ReplaceRegex>(Regex(regex->string, where), with);
}

std::unique_ptr<Normalizer> make_sequence(const Json& spec, std::string_view where) {
  std::vector<std::unique_ptr<Normalizer>> all;
  for (const Json& item : spec.list("normalizers", where)) {
    if (auto one = make_normalizer(item, where)) all.push_back(std::move(one));
  }
  return std::make_unique<SequenceNormalizer>(std::move(all));
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const Json& spec, std::string_view where) {
  if (spec.is_null()) return nullptr;
  const std::string type = spec.type(where);
  if (type == "Sequence") return make_sequence(spec, where);
  if (type == "NFC") return std::make_unique<FormNormalizer>(Form::nfc);
  if (type == "NFD") return std::make_unique<FormNormalizer>(Form::nfd);
  if (type == "NFKC") return std::make_unique<FormNormalizer>(Form::nfkc);
  if (type == "NFKD") return std::make_unique<FormNormalizer>(Form::nfkd);
  if (type == "Lowercase") return lowercase();
  if (type == "Prepend") return std::make_unique<PrependNormalizer>(spec.text("prepend", "", where));
  if (type == "Replace") return make_replace(spec, where);
  if (type == "Strip") {
    return std::make_unique<StripNormalizer>(spec.flag("strip_left", true, where),
                                             spec.flag("strip_right", true, where));
  }
  if (type == "StripAccents") {
    return per_char([](std::string& out, u32 c, std::string_view bytes) {
      if (!combining_marks()[c]) out += bytes;
    });
  }
  if (type == "BertNormalizer") return make_bert(spec, where);
  if (type == "Nmt") return make_nmt();
  if (type == "Precompiled") {
    const std::string blob = decode_base64(spec.text("precompiled_charsmap", "", where), std::string(where));
    return std::make_unique<PrecompiledNormalizer>(Charsmap(blob, where));
  }
  if (type == "ByteLevel") {
    return per_char([](std::string& out, u32, std::string_view bytes) {
      for (char b : bytes) append_utf8(out, byte_alphabet()[u8(b)]);
    });
  }
  fail("{}: the normalizer {} is not supported", where, type);
}

}  // namespace megalith::hf
