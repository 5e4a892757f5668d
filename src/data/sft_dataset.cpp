#include "data/sft_dataset.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "data/sft_packing.h"

namespace megalith {

namespace {

std::vector<SftShare> shares_of(const std::vector<SftPart>& parts) {
  std::vector<SftShare> shares;
  for (const SftPart& p : parts) shares.push_back({p.range.size(), p.weight});
  return shares;
}

}  // namespace

SftDataset::SftDataset(std::vector<SftPart> parts, const DataConfig& config, std::optional<i64> samples)
    : parts_(std::move(parts)),
      seq_length_(config.seq_length),
      pad_(i32(config.pad >= 0 ? config.pad : std::max<i64>(config.eod, 0))),
      skip_long_(config.sft_too_long == DataConfig::TooLong::skip) {
  SftOrder order(shares_of(parts_), u32(config.seed));
  do {
    add_epoch(order, config.sft_packing);
  } while (size() < samples.value_or(0));
}

i64 SftDataset::places(SftOrder::Pick p) const {
  const SftPart& part = parts_[std::size_t(p.file)];
  const i64 i = part.range.begin + p.conversation, wanted = part.conversations->length(i) - 1;
  if (wanted > seq_length_ && skip_long_) return 0;
  const i64 places = std::min(wanted, seq_length_);
  const auto labels = part.conversations->trained_of(i).first(std::size_t(places + 1)).subspan(1);
  return std::ranges::count(labels, u8{1}) > 0 ? places : 0;
}

void SftDataset::note(SftOrder::Pick p) {
  const SftPart& part = parts_[std::size_t(p.file)];
  const i64 i = part.range.begin + p.conversation, wanted = part.conversations->length(i) - 1, taken = places(p);
  const bool too_long = wanted > seq_length_;
  report_.conversations += taken > 0, report_.left_out += taken == 0;
  report_.too_long += too_long, report_.lost_tokens += too_long ? wanted - taken : 0;
  report_.tokens += taken;
  const auto labels = part.conversations->trained_of(i).first(std::size_t(taken + 1)).subspan(1);
  report_.trained += std::ranges::count(labels, u8{1});
}

void SftDataset::add_epoch(SftOrder& order, bool packing) {
  const bool first = size() == 0;
  std::vector<SftOrder::Pick> picks = order.next_epoch();
  if (first) std::ranges::for_each(picks, [&](SftOrder::Pick p) { note(p); });
  std::erase_if(picks, [&](SftOrder::Pick p) { return places(p) == 0; });
  check(!picks.empty(), "{} has no conversation to train on within --seq-length {}: make it longer",
        parts_.empty() ? "the data" : parts_[0].conversations->name, seq_length_);
  std::vector<std::vector<i32>> samples(picks.size());
  if (packing) {
    std::vector<i64> lengths;
    for (const SftOrder::Pick p : picks) lengths.push_back(places(p));
    samples = pack_first_fit(lengths, seq_length_);
    order.random().shuffle(std::span(samples));
  } else {
    for (std::size_t i = 0; i < picks.size(); ++i) samples[i] = {i32(i)};
  }
  for (const std::vector<i32>& sample : samples) {
    for (const i32 i : sample) contents_.push_back(picks[std::size_t(i)]);
    begins_.push_back(i64(contents_.size()));
  }
  if (first) report_.samples = size();
}

std::vector<DatasetUse> SftDataset::use(i64 samples) const {
  std::vector<DatasetUse> all;
  for (const SftPart& part : parts_) all.push_back({part.conversations->name});
  for (i64 c = 0; c < begins_[std::size_t(samples)]; ++c) ++all[std::size_t(contents_[std::size_t(c)].file)].samples;
  for (std::size_t f = 0; f < all.size(); ++f) all[f].epochs = double(all[f].samples) / double(parts_[f].range.size());
  return all;
}

void SftDataset::get(i64 i, const SampleRow& row) const {
  check(i >= 0 && i < size(), "there are {} samples of conversations: there is no sample {}", size(), i);
  const std::span<i32> tokens = row.ints("tokens"), labels = row.ints("labels");
  const std::span<i32> position_ids = row.ints("position_ids"), starts = row.ints("document_starts");
  const std::span<float> loss_mask = row.floats("loss_mask");
  i64 at = 0;
  const auto mark = [&](i64 count) {  // writes the positions and document start of the conversation at `at`
    std::iota(position_ids.begin() + at, position_ids.begin() + at + count, 0);
    if (!starts.empty()) std::fill_n(starts.begin() + at, count, i32(at));
  };
  for (i64 c = begins_[std::size_t(i)]; c < begins_[std::size_t(i) + 1]; ++c) {
    const SftOrder::Pick p = contents_[std::size_t(c)];
    const SftPart& part = parts_[std::size_t(p.file)];
    const i64 which = part.range.begin + p.conversation, count = places(p);
    const auto text = part.conversations->tokens_of(which);
    const auto trained = part.conversations->trained_of(which);
    std::copy_n(text.begin(), count, tokens.begin() + at);
    std::copy_n(text.begin() + 1, count, labels.begin() + at);
    std::transform(trained.begin() + 1, trained.begin() + 1 + count, loss_mask.begin() + at,
                   [](u8 t) { return t ? 1.0f : 0.0f; });
    mark(count);
    at += count;
  }
  const i64 rest = seq_length_ - at;
  std::fill_n(tokens.begin() + at, rest, pad_);
  std::fill_n(labels.begin() + at, rest, pad_);
  std::fill_n(loss_mask.begin() + at, rest, 0.0f);
  mark(rest);
}

}  // namespace megalith
