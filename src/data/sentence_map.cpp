#include "data/sentence_map.h"

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "base/check.h"

namespace megalith {
namespace {

constexpr i64 kLongSentence = 512;

class MapBuilder {
 public:
  MapBuilder(const TokenSource& sentences, const SentenceMapRequest& request)
      : sentences_(sentences),
        request_(request),
        short_one_in_(request.short_probability > 0 ? u32(std::lround(1 / request.short_probability)) : 0),
        random_(request.seed) {}

  void add_document(i64 begin, i64 end) {
    if (end - begin < request_.min_sentences || is_left_out(begin, end)) return;
    i64 first = begin, length = 0, target = draw_target();
    for (i64 s = begin; s < end; ++s) {
      length += sentences_.length(s);
      const i64 remaining = end - s - 1, count = s + 1 - first;
      if (remaining > 0 && (length < target || remaining == 1 || count < request_.min_sentences)) continue;
      spans_.push_back({u32(first), u32(s + 1), u32(target)});
      first = s + 1, length = 0, target = draw_target();  // also after the last sentence of the document
    }
  }

  i64 size() const { return i64(spans_.size()); }

  std::vector<SentenceSpan> shuffled() {
    std::mt19937_64 random(u64(request_.seed) + 1);
    for (std::size_t i = spans_.size(); i-- > 1;) std::swap(spans_[i], spans_[random() % (i + 1)]);
    return std::move(spans_);
  }

 private:
  bool is_left_out(i64 begin, i64 end) const {
    for (i64 s = begin; end - begin > 1 && s < end; ++s)
      if (sentences_.length(s) > kLongSentence) return true;
    return false;
  }

  i64 draw_target() {
    if (short_one_in_ == 0) return request_.max_length;
    const auto drawn = u32(random_());
    return drawn % short_one_in_ == 0 ? 2 + i64(drawn) % (request_.max_length - 1) : request_.max_length;
  }

  const TokenSource& sentences_;
  const SentenceMapRequest& request_;
  u32 short_one_in_;
  std::mt19937 random_;
  std::vector<SentenceSpan> spans_;
};

}  // namespace

std::vector<SentenceSpan> build_sentence_map(const TokenSource& sentences, const std::vector<i64>& document_begins,
                                             const SentenceMapRequest& request) {
  check(request.max_length > 1, "--seq-length leaves {} tokens of text in a sample: want 2 or more",
        request.max_length);
  check(request.short_probability >= 0 && request.short_probability <= 1, "--short-seq-prob is {}: want 0 to 1",
        request.short_probability);
  check(sentences.sequences() < std::numeric_limits<u32>::max(), "{} has {} sentences: too many; split it",
        sentences.name(), sentences.sequences());
  MapBuilder builder(sentences, request);
  do {
    const i64 before = builder.size();
    for (std::size_t d = 0; d + 1 < document_begins.size(); ++d)
      builder.add_document(document_begins[d], document_begins[d + 1]);
    check(
        builder.size() > before,
        "{} gives no samples: none of its {} documents has {} sentences or more, of at most {} tokens; split the text "
        "into sentences",
        sentences.name(), i64(document_begins.size()) - 1, request.min_sentences, kLongSentence);
  } while (request.samples && builder.size() < *request.samples);
  return builder.shuffled();
}

}  // namespace megalith
