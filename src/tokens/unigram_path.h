// The tokens of a text with the highest sum of scores, by dynamic programming over its positions: starts from left to
// right, tokens from short to long, and the first of equal sums. Rounding decides which sums are equal, so sums have
// the type of the program whose tokens we reproduce.
#pragma once
#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "tokens/byte_trie.h"
#include "tokens/unicode.h"

namespace megalith {

// Score: the type of sums, float for SentencePiece, double for Hugging Face tokenizers. If the best sum falls below
// `lowest`, it is subtracted from all, as in SentencePiece since 0.2.2: a larger float cannot distinguish sums.
template <class Score>
class UnigramPath {
 public:
  static constexpr i32 kUnknown = -1;  // one character without a token

  explicit UnigramPath(Score lowest = std::numeric_limits<Score>::lowest()) : lowest_(lowest) {}

  struct Step {
    size_t begin, end;
    i32 id;
  };

  // The steps from the end of the text to its start. trie: token ids; score_of(id, bytes): of a token.
  template <class ScoreOf>
  const std::vector<Step>& find(std::string_view text, const ByteTrie& trie, Score unknown, ScoreOf&& score_of) {
    const auto* bytes = reinterpret_cast<const u8*>(text.data());
    best_.assign(text.size() + 1, {});
    furthest_ = 0;
    for (size_t i = 0; i < text.size();) {
      const size_t next = i + read_utf8(bytes + i, text.size() - i).length;
      if (best_[i].score < lowest_) subtract(best_[i].score, i);
      const Score so_far = best_[i].score;
      bool has_char = false;
      u32 node = ByteTrie::root();
      for (size_t k = i; k < text.size(); ++k) {
        node = trie.step(node, bytes[k]);
        if (node == ByteTrie::kDead) break;
        const i32 id = trie.value(node);
        if (id == ByteTrie::kNone) continue;
        offer(k + 1, {Score(score_of(id, k + 1 - i) + so_far), i, id});
        has_char |= k + 1 == next;
      }
      if (!has_char) offer(next, {Score(unknown + so_far), i, kUnknown});
      i = next;
    }
    steps_.clear();
    for (size_t at = text.size(); at > 0; at = best_[at].begin) steps_.push_back({best_[at].begin, at, best_[at].id});
    return steps_;
  }

 private:
  struct Node {
    Score score = 0;
    size_t begin = std::string_view::npos;  // npos: not reached yet
    i32 id = kUnknown;
  };
  void offer(size_t at, const Node& candidate) {
    if (best_[at].begin == std::string_view::npos || candidate.score > best_[at].score) best_[at] = candidate;
    furthest_ = std::max(furthest_, at);
  }
  void subtract(Score score, size_t from) {
    for (size_t at = from; at <= furthest_; ++at) best_[at].score -= score;  // sums of unreached positions are not read
  }

  Score lowest_;

  std::vector<Node> best_;  // by position: the best way to reach it
  std::vector<Step> steps_;
  size_t furthest_ = 0;  // place reached
};

}  // namespace megalith
