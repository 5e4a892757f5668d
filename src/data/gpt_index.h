// The order in which a GPT dataset is read: Megatron's document, sample and shuffle indices.
//
// The sequences of a split are repeated for as many epochs as needed, shuffled and concatenated. The result is cut
// every seq_length tokens, and the samples are shuffled. With an extra token a sample has seq_length + 1 tokens and
// shares one with the next.
#pragma once
#include <optional>
#include <vector>

#include "data/sample_cuts.h"
#include "data/split.h"
#include "data/stored_array.h"

namespace megalith {

struct GptIndexRequest {
  Range sequences;             // of the source
  std::optional<i64> samples;  // minimum number of samples; empty: one epoch
  i64 seq_length = 0;
  u32 seed = 1234;
  bool add_extra_token = true;  // seq_length + 1 tokens, for the last label
  bool drop_last = true;        // false: the last, partial sample counts too
};

struct GptIndex {
  StoredArray<i32> documents;  // sequences of the source, in reading order, all epochs
  // Every cut_stride-th cut; sample j is between cuts j and j + 1. Other cuts are computed from the previous one, so
  // an index in memory has only one cut of sixteen.
  StoredArray<SamplePosition> cuts;
  i64 cut_stride = 1;
  StoredArray<u32> shuffle;  // request i reads sample shuffle[i]

  i64 size() const { return shuffle.size(); }
};
inline constexpr i64 kCutStride = 16;

// The sizes of an index, computed before it is built.
struct GptIndexPlan {
  i64 epochs = 1;
  i64 tokens_per_epoch = 0;
  i64 samples = 0;                   // in all epochs
  i64 samples_before_last = 0;       // in all epochs except the last
  bool separate_last_epoch = false;  // a partly used last epoch is shuffled separately
};

// Error, with the source's name, if the range has no tokens or the index would be too large.
GptIndexPlan plan_gpt_index(const TokenSource& source, const GptIndexRequest& request);
GptIndex build_gpt_index(const TokenSource& source, const GptIndexRequest& request, i64 cut_stride = kCutStride);

}  // namespace megalith
