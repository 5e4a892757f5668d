#include "data/sample_cuts.h"

#include <algorithm>

namespace megalith {

SampleCutter::SampleCutter(const SampleStream& stream, SamplePosition from, std::size_t ahead)
    : stream_(stream), entry_(from.entry), ahead_(std::min(ahead, kMostAhead)), offset_(from.offset) {}

i64 SampleCutter::length(std::size_t entry) {
  if (entry < fetched_ || entry >= fetched_end_) {
    fetched_ = entry, fetched_end_ = std::min(entry + ahead_, stream_.documents.size());
    stream_.source.lengths(stream_.documents.subspan(entry, fetched_end_ - entry), lengths_);
  }
  return lengths_[entry - fetched_];
}

void SampleCutter::skip(i64 samples) {
  const i64 extra = stream_.add_extra_token ? 1 : 0;
  i64 wanted = samples * stream_.seq_length + extra, held = length(entry_);
  while (wanted > held - offset_) {
    wanted -= held - offset_;
    if (entry_ + 1 == stream_.documents.size()) {
      offset_ = held - extra;  // the last sample is partial
      return;
    }
    ++entry_, offset_ = 0, held = length(entry_);
  }
  offset_ += wanted - extra;  // the sample ends in this document, possibly at its last token
}

}  // namespace megalith
