// Unigram: of all ways to write a piece as tokens, it takes the one with the highest sum of scores. Dynamic
// programming over the positions of the piece finds it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/escape.h"
#include "tokens/byte_trie.h"
#include "tokens/hf/model.h"
#include "tokens/unigram_path.h"

namespace megalith::hf {

namespace {

constexpr double kUnknownPenalty = 10;
constexpr size_t kLongestToken = 1024;  // bytes; limits the time of each position in the text

double power_of_ten(int exponent) {  // 0 to 308
  const std::string text = fmt::format("1e{}", exponent);
  double power = 1;
  std::from_chars(text.data(), text.data() + text.size(), power);
  return power;
}

// A score with the rounding of Hugging Face tokenizers. They read its digits as an integer and multiply or divide by
// a power of ten, which may round twice. The last bit decides between paths of equal sums. Like theirs, our reader
// refuses infinities, NaN and numbers that are too large.
double as_tokenizers_read(double score) {
  std::array<char, 32> text;
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), std::abs(score), std::chars_format::scientific);
  const std::string_view all(text.data(), written.ptr), digits = all.substr(0, all.find('e'));
  int exponent = 0;
  const size_t sign = digits.size() + (all[digits.size() + 1] == '+' ? 2 : 1);
  std::from_chars(all.data() + sign, all.data() + all.size(), exponent);
  u64 whole = 0;
  for (char c : digits) {
    if (c == '.') exponent -= int(digits.size() - digits.find('.') - 1);
    if (c != '.') whole = 10 * whole + u64(c - '0');
  }
  constexpr int kMost = 308;  // the largest power of ten that is finite
  double value = double(whole);
  for (; exponent < -kMost; exponent += kMost) value /= power_of_ten(kMost);
  value = exponent < 0 ? value / power_of_ten(-exponent) : value * power_of_ten(exponent);
  return std::copysign(value, score);
}

class UnigramModel : public Model {
 public:
  UnigramModel(Vocabulary v, std::vector<double> scores, i32 unknown, bool byte_fallback)
      : Model(std::move(v)), scores_(std::move(scores)), unknown_(unknown), byte_fallback_(byte_fallback) {
    byte_tokens_ = byte_tokens(vocabulary_);
    for (size_t id = 0; id < scores_.size(); ++id) trie_.insert(vocabulary_.tokens()[id], i32(id));
    const auto least = std::min_element(scores_.begin(), scores_.end());
    unknown_score_ = (least == scores_.end() ? 0 : *least) - kUnknownPenalty;
  }
  std::unique_ptr<ModelEncoder> encoder() const override;

  std::vector<double> scores_;
  i32 unknown_;
  bool byte_fallback_;
  double unknown_score_ = 0;
  ByteTrie trie_;
  std::vector<i32> byte_tokens_;
};

class UnigramEncoder : public ModelEncoder {
 public:
  explicit UnigramEncoder(const UnigramModel& model) : m_(model) {}

  void encode(std::string_view text, size_t begin, size_t end, std::vector<i32>& out) override {
    const std::string_view piece = text.substr(begin, end - begin);
    const auto& steps =
        path_.find(piece, m_.trie_, m_.unknown_score_, [&](i32 id, size_t) { return m_.scores_[size_t(id)]; });
    // Adjacent unknown characters become one token.
    for (size_t i = steps.size(); i-- > 0;) {
      const auto unknown = [&](size_t k) {
        return steps[k].id == UnigramPath<double>::kUnknown || steps[k].id == m_.unknown_;
      };
      const size_t from = steps[i].begin;
      if (unknown(i)) {
        if (m_.unknown_ < 0)
          fail("the tokenizer has no token for \"{}\" and no unk_id",
               escape_controls(piece.substr(from, steps[i].end - from)));
        while (i > 0 && unknown(i - 1)) --i;
      }
      put(piece.substr(from, steps[i].end - from), out);
    }
  }

 private:
  void put(std::string_view token, std::vector<i32>& out) {
    const i32 id = m_.vocabulary().find(token);
    if (id != Vocabulary::kNone) return out.push_back(id);
    const auto known = [&](char b) { return m_.byte_tokens_[u8(b)] != Vocabulary::kNone; };
    if (m_.byte_fallback_ && std::all_of(token.begin(), token.end(), known)) {
      for (char b : token) out.push_back(m_.byte_tokens_[u8(b)]);
    } else {
      out.push_back(m_.unknown_);
    }
  }

  const UnigramModel& m_;
  UnigramPath<double> path_;
};

std::unique_ptr<ModelEncoder> UnigramModel::encoder() const { return std::make_unique<UnigramEncoder>(*this); }

}  // namespace

std::unique_ptr<Model> make_unigram(const Json& spec, std::string_view where) {
  Vocabulary v;
  std::vector<double> scores;
  for (const Json& item : spec.list("vocab", where)) {
    const bool ok = item.is_list() && item.items.size() == 2 && item.items[0].is_string() &&
                    item.items[1].kind == Json::Kind::number && std::isfinite(item.items[1].number);
    check(ok, "{}: entry {} of the vocabulary is not [\"token\", score]", where, scores.size());
    v.append(item.items[0].string);
    scores.push_back(as_tokenizers_read(item.items[1].number));
    check(item.items[0].string.size() <= kLongestToken, "{}: token {} is {} bytes long: at most {} are possible", where,
          scores.size() - 1, item.items[0].string.size(), kLongestToken);
  }
  check(!scores.empty(), "{}: the vocabulary is empty", where);
  const i64 unknown = spec.whole("unk_id", -1, where);
  check(unknown >= -1 && unknown < i64(scores.size()), "{}: unk_id {} is outside the vocabulary of {} tokens", where,
        unknown, scores.size());
  return std::make_unique<UnigramModel>(std::move(v), std::move(scores), i32(unknown),
                                        spec.flag("byte_fallback", false, where));
}

}  // namespace megalith::hf
