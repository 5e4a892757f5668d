// Unigram: of all ways to write a piece as tokens, the one with the highest sum of scores, by dynamic programming over
// the places in the piece.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "tokens/byte_trie.h"
#include "tokens/hf/model.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

constexpr double kUnknownPenalty = 10;

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
    best_.assign(piece.size() + 1, {});
    for (size_t i = 0; i < piece.size();) i = step(piece, i);
    path_.clear();
    for (size_t at = piece.size(); at > 0; at = best_[at].begin) {
      const bool joins = !path_.empty() && m_.unknown_ >= 0 && best_[at].id == m_.unknown_ && path_.back().unknown;
      if (joins) {
        path_.back().begin = best_[at].begin;
      } else {
        path_.push_back({best_[at].begin, at, m_.unknown_ >= 0 && best_[at].id == m_.unknown_});
      }
    }
    for (size_t i = path_.size(); i-- > 0;) put(piece.substr(path_[i].begin, path_[i].end - path_[i].begin), out);
  }

 private:
  struct Node {
    double score = 0;
    size_t begin = std::string_view::npos;  // npos: not reached yet
    i32 id = 0;
  };
  struct Step {
    size_t begin, end;
    bool unknown;
  };

  void offer(size_t at, const Node& candidate) {
    if (best_[at].begin == std::string_view::npos || candidate.score > best_[at].score) best_[at] = candidate;
  }

  // Tokens that begin at i; returns the next character's place.
  size_t step(std::string_view piece, size_t i) {
    const auto* bytes = reinterpret_cast<const u8*>(piece.data());
    const size_t next = i + read_utf8(bytes + i, piece.size() - i).length;
    const double so_far = best_[i].score;
    bool has_char = false;
    u32 node = ByteTrie::root();
    for (size_t k = i; k < piece.size(); ++k) {
      node = m_.trie_.step(node, bytes[k]);
      if (node == ByteTrie::kDead) break;
      const i32 id = m_.trie_.value(node);
      if (id == ByteTrie::kNone) continue;
      offer(k + 1, {so_far + m_.scores_[size_t(id)], i, id});
      has_char |= k + 1 == next;
    }
    if (!has_char) {
      check(m_.unknown_ >= 0, "the tokenizer has no token for \"{}\" and no unk_id", piece.substr(i, next - i));
      offer(next, {so_far + m_.unknown_score_, i, m_.unknown_});
    }
    return next;
  }

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
  std::vector<Node> best_;  // by place: the best way to reach it
  std::vector<Step> path_;  // from the end on
};

std::unique_ptr<ModelEncoder> UnigramModel::encoder() const { return std::make_unique<UnigramEncoder>(*this); }

}  // namespace

std::unique_ptr<Model> make_unigram(const Json& spec, std::string_view where) {
  Vocabulary v;
  std::vector<double> scores;
  for (const Json& item : spec.list("vocab", where)) {
    const bool ok = item.is_list() && item.items.size() == 2 && item.items[0].is_string() &&
                    item.items[1].kind == Json::Kind::number;
    check(ok, "{}: entry {} of the vocabulary is not [\"token\", score]", where, scores.size());
    v.add(item.items[0].string, i32(scores.size()));
    scores.push_back(item.items[1].number);
  }
  check(!scores.empty(), "{}: the vocabulary is empty", where);
  const i64 unknown = spec.whole("unk_id", -1, where);
  check(unknown >= -1 && unknown < i64(scores.size()), "{}: unk_id {} is outside the vocabulary of {} tokens", where,
        unknown, scores.size());
  return std::make_unique<UnigramModel>(std::move(v), std::move(scores), i32(unknown),
                                        spec.flag("byte_fallback", false, where));
}

}  // namespace megalith::hf
