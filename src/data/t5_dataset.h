// Samples for T5: runs of words in the encoder's text are replaced by sentinels, and the decoder predicts these
// words. After Megatron's T5MaskedWordPieceDataset.
#pragma once
#include <memory>

#include "data/masking.h"
#include "data/sentence_map_cache.h"

namespace megalith {

struct T5Config {
  i64 seq_length = 0, seq_length_decoder = 0;
  u32 seed = 1234;
  i32 bos = 0, eos = 0, pad = 0;
  std::vector<i32> sentinels = {};  // one for each masked run of a sample
  std::vector<i32> kept = {};       // ids that are never masked, such as [CLS] and [SEP]
  MaskingConfig masking{.max_ngram = 10, .geometric = true};
  std::string cache_path = {};  // directory for the cached sentence map; empty: not cached
};

struct T5Sample {
  std::vector<i32> encoder_text, encoder_mask;                     // [seq_length]
  std::vector<i32> decoder_text, decoder_mask, labels, loss_mask;  // [seq_length_decoder]; labels: -1 after the end
  bool is_truncated = false;
  bool operator==(const T5Sample&) const = default;
};

class T5Dataset {
 public:
  // `document_begins`: see build_sentence_map. samples: empty for one epoch.
  T5Dataset(std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins,
            std::optional<i64> samples, T5Config config);

  i64 size() const { return i64(map_.size()); }
  std::span<const SentenceSpan> map() const { return map_.all(); }
  // Error if i is out of range, or if the sample needs more sentinels than exist. Also if it does not fit into the
  // decoder.
  T5Sample get(i64 i) const;

 private:
  std::shared_ptr<const TokenSource> sentences_;
  T5Config config_;
  StoredArray<SentenceSpan> map_;
};

}  // namespace megalith
