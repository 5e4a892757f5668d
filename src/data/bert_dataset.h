// Samples for BERT: masked words, and the order of two segments of text. After Megatron's BERTMaskedWordPieceDataset.
#pragma once
#include <memory>

#include "data/masking.h"
#include "data/sentence_map_cache.h"

namespace megalith {

struct BertConfig {
  i64 seq_length = 0;
  u32 seed = 1234;
  bool sentence_order = true;  // two segments [CLS] A [SEP] B [SEP], swapped half of the time; else one
  i32 cls = 0, sep = 0, mask = 0, pad = 0;
  i64 vocab_size = 0;  // some masked tokens are replaced by a random one of these
  MaskingConfig masking = {};
  std::string cache_path = {};  // directory for the cached sentence map; empty: not cached
};

// All arrays have seq_length elements.
struct BertSample {
  std::vector<i32> text, types;  // types: 0 up to the first [SEP], 1 after it
  std::vector<i32> labels;       // the original token where it is masked, else -1
  std::vector<i32> padding_mask, loss_mask;
  bool is_swapped = false, is_truncated = false;
  bool operator==(const BertSample&) const = default;
};

class BertDataset {
 public:
  // `document_begins`: see build_sentence_map. samples: empty for one epoch.
  BertDataset(std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& document_begins,
              std::optional<i64> samples, BertConfig config);

  i64 size() const { return i64(map_.size()); }
  std::span<const SentenceSpan> map() const { return map_.all(); }
  BertSample get(i64 i) const;  // Error if i is out of range

 private:
  std::shared_ptr<const TokenSource> sentences_;
  BertConfig config_;
  StoredArray<SentenceSpan> map_;
};

}  // namespace megalith
