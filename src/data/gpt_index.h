// The order in which a GPT dataset is read: Megatron's document, sample and shuffle indices.
//
// The sequences of a split, repeated for as many epochs as needed and shuffled, are laid end to end and cut every
// seq_length tokens; the cuts are then shuffled. With an extra token a sample holds seq_length + 1 tokens and shares
// one with the next.
#pragma once
#include <optional>
#include <vector>

#include "data/split.h"
#include "data/token_source.h"

namespace megalith {

struct GptIndexRequest {
  Range sequences;             // of the source
  std::optional<i64> samples;  // at least so many; nothing: one epoch
  i64 seq_length = 0;
  u32 seed = 1234;
  bool add_extra_token = true;  // one token more than seq_length, for the last label
  bool drop_last = true;        // false: the last, partial sample counts too
};

// A cut: the token `offset` of the sequence that documents[entry] names.
struct SamplePosition {
  u32 entry = 0;
  i32 offset = 0;
  bool operator==(const SamplePosition&) const = default;
};

struct GptIndex {
  std::vector<i32> documents;           // sequences of the source, in reading order, all epochs
  std::vector<SamplePosition> samples;  // one more than there are samples: sample j lies between samples[j] and [j + 1]
  std::vector<u32> shuffle;             // sample i that is asked for is sample shuffle[i]

  i64 size() const { return i64(shuffle.size()); }
};

// The sizes of an index, known before it is built.
struct GptIndexPlan {
  i64 epochs = 1;
  i64 tokens_per_epoch = 0;
  i64 samples = 0;                   // of all epochs
  i64 samples_before_last = 0;       // of all epochs but the last
  bool separate_last_epoch = false;  // the last epoch is used in part only and shuffled on its own
};

// Error, naming the source, if the range holds no tokens or the index would be too large.
GptIndexPlan plan_gpt_index(const TokenSource& source, const GptIndexRequest& request);
GptIndex build_gpt_index(const TokenSource& source, const GptIndexRequest& request);

}  // namespace megalith
