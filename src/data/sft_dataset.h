// Samples of complete conversations. Several are packed into a sample, without attention between them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/config.h"
#include "data/conversations.h"
#include "data/dataset.h"
#include "data/sft_order.h"
#include "data/split.h"

namespace megalith {

// The part of a file that is in a split.
struct SftPart {
  std::shared_ptr<const Conversations> conversations;
  Range range;        // range of conversations
  double weight = 0;  // share of each epoch's conversations; all 0: every conversation once per epoch
};

// Counts of conversations during packing; tokens and samples are of the first epoch.
struct SftReport {
  i64 conversations = 0, tokens = 0, trained = 0;  // tokens: read by the model; trained: labels in the loss
  i64 samples = 0;
  i64 too_long = 0;     // conversations longer than a sample
  i64 lost_tokens = 0;  // tokens of these that were truncated or skipped
  i64 left_out = 0;     // conversations skipped: too long, or without a label after truncation
};

// Each epoch has its own order of conversations, packs them (first fit) and shuffles the samples. Randomness depends
// on the seed only, so it does not depend on the number of ranks. In a sample a conversation of n tokens takes n - 1
// positions. Its last token is only a label. Positions restart with each conversation, and document_starts separate
// them. The rest of a sample is padding: a separate document, excluded from the loss.
class SftDataset : public Dataset {
 public:
  // `samples`: the minimum, in complete epochs; empty: one epoch. Error if no conversation fits.
  SftDataset(std::vector<SftPart> parts, const DataConfig& config, std::optional<i64> samples);

  i64 size() const override { return i64(begins_.size()) - 1; }
  i64 seq_length() const override { return seq_length_; }
  std::vector<SampleArray> arrays() const override { return decoder_arrays(seq_length_, true); }
  void get(i64 i, const SampleRow& row) const override;
  // Samples mix files, so the counts are conversations instead of samples.
  std::vector<DatasetUse> use(i64 samples) const override;

  const SftReport& report() const { return report_; }

 private:
  i64 places(SftOrder::Pick p) const;  // positions in a sample; 0: the conversation is skipped
  void note(SftOrder::Pick p);
  void add_epoch(SftOrder& order, bool packing);

  std::vector<SftPart> parts_;
  i64 seq_length_;
  i32 pad_;
  bool skip_long_;
  std::vector<SftOrder::Pick> contents_;  // conversations of all samples, concatenated
  std::vector<i64> begins_ = {0};         // first conversation of each sample
  SftReport report_;
};

}  // namespace megalith
