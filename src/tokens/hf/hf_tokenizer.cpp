#include "tokens/hf/hf_tokenizer.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/hf/decoder.h"
#include "tokens/hf/normalizer.h"
#include "tokens/piece_encoder.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

// Encodes pieces that are plain bytes.
class ByteModelEncoder : public ModelEncoder {
 public:
  explicit ByteModelEncoder(const ByteBpe& bpe) : pieces_(ByteBpeModel(bpe)) {}
  void encode(std::string_view text, size_t begin, size_t end, std::vector<i32>& out) override {
    pieces_.add(reinterpret_cast<const u8*>(text.data()) + begin, end - begin, text.size() - begin, out);
  }
  void finish(std::vector<i32>& out) override { pieces_.flush(out); }

 private:
  PieceEncoder<ByteBpeModel> pieces_;
};

bool is_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const u8*>(text.data());
  for (size_t i = 0; i < text.size();) {
    if (bytes[i] < 0x80) {
      ++i;
      continue;
    }
    const Utf8Char c = read_utf8(bytes + i, text.size() - i);
    if (c.code_point == Utf8Char::kInvalid) return false;
    i += c.length;
  }
  return true;
}

class HfEncoder : public TextEncoder {
 public:
  explicit HfEncoder(const HfTokenizer& t)
      : t_(t), normalizer_(make_normalizer(t.parts().normalizer, t.parts().where)) {
    const HfParts& p = t.parts();
    const ByteBpe* bytes = p.plan.ends_in_byte_alphabet ? p.model->byte_bpe() : nullptr;
    keeps_bytes_ = bytes && (!normalizer_ || normalizer_->keeps_bytes());
    if (bytes && (p.plan.steps.empty() || p.plan.pattern != SplitPattern::none)) {
      fast_ = make_byte_encoder(p.plan.pattern, *bytes);
      return;
    }
    for (const Json& step : p.plan.steps) steps_.push_back(make_pre_tokenizer(step, p.where));
    if (p.plan.ends_in_byte_alphabet && !bytes) steps_.push_back(make_byte_alphabet_step());
    model_ = bytes ? std::make_unique<ByteModelEncoder>(*bytes) : p.model->encoder();
  }

  void encode(std::string_view text, std::vector<i32>& out) override {
    if (!keeps_bytes_ && !is_utf8(text)) text = valid_ = replace_invalid_utf8(text);
    const Surround& s = t_.parts().surround;
    out.insert(out.end(), s.before.begin(), s.before.end());
    t_.added().split(
        text, false, [&](i32 id, size_t, size_t) { out.push_back(id); },
        [&](size_t begin, size_t end) { add_raw(text.substr(begin, end - begin), begin == 0, out); });
    out.insert(out.end(), s.after.begin(), s.after.end());
  }

 private:
  void add_raw(std::string_view text, bool first, std::vector<i32>& out) {
    if (normalizer_) text = normalizer_->apply(text);
    t_.added().split(
        text, true, [&](i32 id, size_t, size_t) { out.push_back(id); },
        [&](size_t begin, size_t end) { add_plain(text.substr(begin, end - begin), first && begin == 0, out); });
  }

  void add_plain(std::string_view text, bool first, std::vector<i32>& out) {
    if (fast_) return fast_->encode(text, out);
    pieces_.text.assign(text);
    pieces_.pieces.assign(1, {0, text.size(), first});
    for (auto& step : steps_) step->apply(pieces_);
    for (const Pieces::Piece& p : pieces_.pieces) model_->encode(pieces_.text, p.begin, p.end, out);
    model_->finish(out);
  }

  const HfTokenizer& t_;
  std::unique_ptr<Normalizer> normalizer_;
  bool keeps_bytes_ = false;
  std::unique_ptr<TextEncoder> fast_;
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
  std::unique_ptr<ModelEncoder> model_;
  Pieces pieces_;
  std::string valid_;
};

AddedTokens read_added(const HfParts& p) {
  const auto normalizer = make_normalizer(p.normalizer, p.where);
  return AddedTokens(p.added_tokens, p.model->vocabulary(), normalizer.get(), p.split_special);
}

}  // namespace

HfTokenizer::HfTokenizer(HfParts parts)
    : parts_(std::move(parts)), added_(read_added(parts_)), tokens_(parts_.model->vocabulary().tokens()) {
  for (const AddedToken& t : added_.tokens()) {
    if (tokens_.size() <= size_t(t.id)) tokens_.resize(size_t(t.id) + 1);
    tokens_[size_t(t.id)] = t.decoded;
  }
  std::vector<std::string> none;
  decode_tokens(parts_.decoder, none, parts_.where);
  set_surround(std::move(parts_.surround));
}

void HfTokenizer::set_surround(Surround s) {
  for (const auto* ids : {&s.before, &s.after}) {
    for (i32 id : *ids) {
      check(id >= 0 && id < vocab_size(), "{}: the post_processor adds the id {}, but there are {} tokens",
            parts_.where, id, vocab_size());
    }
  }
  parts_.surround = std::move(s);
}

bool HfTokenizer::is_special(i32 id) const {
  return Tokenizer::is_special(id) || std::ranges::find(other_special_, id) != other_special_.end();
}

i32 HfTokenizer::find(std::string_view token) const {
  for (const AddedToken& t : added_.tokens()) {
    if (t.content == token) return t.id;
  }
  return parts_.model->vocabulary().find(token);
}

std::unique_ptr<TextEncoder> HfTokenizer::encoder() const { return std::make_unique<HfEncoder>(*this); }

std::string HfTokenizer::decode_bytes(std::span<const i32> ids) const {
  std::vector<std::string> tokens;
  for (i32 id : ids) {
    check(id >= 0 && id < vocab_size(), "token id {} is outside the vocabulary: want 0 to {}", id, vocab_size() - 1);
    if (!tokens_[size_t(id)].empty()) tokens.push_back(tokens_[size_t(id)]);
  }
  decode_tokens(parts_.decoder, tokens, parts_.where);
  std::string text;
  for (const std::string& t : tokens) text += t;
  return text;
}

}  // namespace megalith::hf
