#include "data/gpt_dataset.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {

// Padding of a sample with too few tokens. It is no valid id, so no real token is mistaken for padding.
static constexpr i32 kFill = -1;

GptDataset::GptDataset(std::shared_ptr<const TokenSource> source, GptIndex index, GptSampleOptions options,
                       i64 tokens_per_epoch, TextEdit edit, std::optional<GptIndexRequest> asked)
    : source_(std::move(source)),
      index_(std::move(index)),
      options_(options),
      samples_per_epoch_(double(tokens_per_epoch) / double(options.seq_length)),
      edit_(std::move(edit)),
      asked_(asked) {}

std::vector<DatasetUse> GptDataset::use(i64 samples) const {
  return {{source_->name(), samples, samples_per_epoch_ > 0 ? double(samples) / samples_per_epoch_ : 0}};
}

// The epochs, and how the last one is shuffled, determine the order.
bool GptDataset::keeps_order(i64 samples) const {
  if (!asked_) return false;
  GptIndexRequest other = *asked_;
  other.samples = samples;
  const GptIndexPlan now = plan_gpt_index(*source_, *asked_), then = plan_gpt_index(*source_, other);
  return now.epochs == then.epochs && now.separate_last_epoch == then.separate_last_epoch;
}

void GptDataset::append(std::vector<i32>& text, i64 entry, i64 begin, i64 end) const {
  const i64 document = index_.documents[entry];
  begin = std::max<i64>(begin, 0);  // -1 if the last document is empty
  if (begin >= end) return;
  const std::size_t before = text.size();
  text.resize(before + std::size_t(end - begin));
  const std::span<i32> part = std::span(text).subspan(before);
  source_->read(document, begin, part);
  if (options_.vocab_size == 0) return;
  for (std::size_t i = 0; i < part.size(); ++i)
    check((part[i] >= 0 && part[i] < options_.vocab_size) || part[i] == kFill,
          "{} holds token {} at position {} of document {}, outside the vocabulary of {}: tokenize it with this "
          "tokenizer",
          source_->name(), part[i], begin + i64(i), document, options_.vocab_size);
}

// Start and end position of a sample.
std::pair<SamplePosition, SamplePosition> GptDataset::bounds(i64 sample) const {
  const i64 stride = index_.cut_stride, kept = sample / stride;
  if (stride == 1) return {index_.cuts[kept], index_.cuts[kept + 1]};
  SampleCutter cutter({*source_, index_.documents.all(), options_.seq_length, options_.add_extra_token},
                      index_.cuts[kept], 64);
  cutter.skip(sample - kept * stride);
  const SamplePosition from = cutter.cut();
  cutter.skip(1);
  return {from, cutter.cut()};
}

// The tokens of a sample. The last sample of a validation set may have fewer.
std::vector<i32> GptDataset::text(i64 sample) const {
  const auto [from, to] = bounds(sample);
  const i64 extra = options_.add_extra_token ? 1 : 0;
  std::vector<i32> text;
  text.reserve(std::size_t(options_.seq_length + extra));
  for (i64 entry = from.entry; entry <= to.entry; ++entry) {
    const i64 length = source_->length(index_.documents[entry]);
    append(text, entry, entry == from.entry ? from.offset : 0, entry == to.entry ? to.offset + extra : length);
  }
  check(i64(text.size()) <= options_.seq_length + extra,
        "sample {} of {} has {} tokens instead of {}: its index is wrong", sample, source_->name(), text.size(),
        options_.seq_length + extra);
  return text;
}

std::vector<DocumentPart> GptDataset::documents(i64 i) const {
  check(i >= 0 && i < size(), "{} has {} samples: there is no sample {}", source_->name(), size(), i);
  const auto [from, to] = bounds(index_.shuffle[i]);
  std::vector<DocumentPart> out;
  i64 position = 0;
  for (i64 entry = from.entry; entry <= to.entry; ++entry) {
    const i64 document = index_.documents[entry];
    const i64 begin = std::max<i64>(entry == from.entry ? from.offset : 0, 0);
    const i64 end = entry == to.entry ? to.offset + (options_.add_extra_token ? 1 : 0) : source_->length(document);
    if (begin >= end) continue;
    out.push_back({source_->name(), document, begin, end - begin, position, source_->byte_of(document, begin),
                   source_->byte_of(document, end)});
    position += end - begin;
  }
  return out;
}

std::vector<i64> GptDataset::sequences(i64 i) const {
  const auto [from, to] = bounds(index_.shuffle[i]);
  std::vector<i64> out;
  for (i64 entry = from.entry; entry <= to.entry; ++entry) out.push_back(index_.documents[entry]);
  std::ranges::sort(out);
  return out;
}

// Fills loss mask, positions and document starts from the tokens and labels.
void GptDataset::fill_marks(const SampleRow& row) const {
  const std::span<const i32> tokens = row.ints("tokens"), labels = row.ints("labels");
  const std::span<i32> position_ids = row.ints("position_ids"), starts = row.ints("document_starts");
  const std::span<float> loss_mask = row.floats("loss_mask");
  i32 start = 0;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const bool eod = options_.eod >= 0 && tokens[t] == options_.eod;
    const bool padding = labels[t] == kFill || labels[t] == options_.pad;
    loss_mask[t] = (eod && options_.eod_mask_loss) || padding ? 0.0f : 1.0f;
    position_ids[t] = i32(t) - (options_.reset_position_ids ? start : 0);
    if (!starts.empty()) starts[t] = start;
    if (eod) start = i32(t) + 1;  // the eod itself belongs to its document
  }
}

void GptDataset::get(i64 i, const SampleRow& row) const {
  check(i >= 0 && i < size(), "{} has {} samples: there is no sample {}", source_->name(), size(), i);
  std::vector<i32> all = text(index_.shuffle[i]);
  if (edit_) edit_(i, all);
  const auto length = std::ptrdiff_t(options_.seq_length);
  all.resize(std::size_t(options_.seq_length + (options_.add_extra_token ? 1 : 0)), kFill);
  const std::span<i32> tokens = row.ints("tokens"), labels = row.ints("labels");
  std::copy_n(all.begin(), length, tokens.begin());
  std::copy(all.begin() + 1, all.end(), labels.begin());
  if (!options_.add_extra_token) labels.back() = kFill;
  fill_marks(row);
  std::ranges::replace(tokens, kFill, 0);  // the embedding has no row for kFill
  std::ranges::replace(labels, kFill, 0);
}

}  // namespace megalith
