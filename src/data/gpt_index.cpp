#include "data/gpt_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/huge_pages.h"
#include "data/numpy_random.h"

namespace megalith {
namespace {

void append_range(std::vector<i32>& documents, const Range& range, i64 times) {
  for (i64 t = 0; t < times; ++t) {
    const std::size_t before = documents.size();
    documents.resize(before + std::size_t(range.size()));
    std::iota(documents.begin() + std::ptrdiff_t(before), documents.end(), i32(range.begin));
  }
}

std::vector<i32> build_documents(const Range& range, const GptIndexPlan& plan, RandomState& random) {
  std::vector<i32> documents = reserve_in_huge_pages<i32>(std::size_t(plan.epochs * range.size()));
  const i64 together = plan.separate_last_epoch ? plan.epochs - 1 : plan.epochs;
  append_range(documents, range, together);
  random.shuffle(std::span(documents));
  if (plan.separate_last_epoch) {
    const std::size_t before = documents.size();
    append_range(documents, range, 1);
    random.shuffle(std::span(documents).subspan(before));
  }
  return documents;
}

std::vector<SamplePosition> build_cuts(const SampleStream& stream, i64 samples, i64 stride) {
  std::vector<SamplePosition> cuts = reserve_in_huge_pages<SamplePosition>(std::size_t(samples / stride) + 1);
  SampleCutter cutter(stream, {0, 0}, SampleCutter::kMostAhead);
  cuts.push_back(cutter.cut());
  for (i64 k = stride; k <= samples; k += stride) {
    cutter.skip(stride);
    cuts.push_back(cutter.cut());
  }
  return cuts;
}

std::vector<u32> build_shuffle(const GptIndexPlan& plan, RandomState& random) {
  std::vector<u32> shuffle = reserve_in_huge_pages<u32>(std::size_t(plan.samples));
  shuffle.resize(std::size_t(plan.samples));
  std::iota(shuffle.begin(), shuffle.end(), 0u);
  const std::span<u32> all(shuffle);
  if (!plan.separate_last_epoch) {
    random.shuffle(all);
    return shuffle;
  }
  const std::size_t before = std::size_t(plan.samples_before_last);
  random.shuffle(all.first(before));
  random.shuffle(all.subspan(before));
  return shuffle;
}

i64 tokens_of(const TokenSource& source, const Range& range) {
  constexpr i64 kAtOnce = 512;
  std::array<i32, kAtOnce> sequences, lengths;
  i64 tokens = 0;
  for (i64 begin = range.begin; begin < range.end; begin += kAtOnce) {
    const auto count = std::size_t(std::min(kAtOnce, range.end - begin));
    std::iota(sequences.begin(), sequences.begin() + count, i32(begin));
    source.lengths(std::span(sequences).first(count), lengths);
    tokens += std::accumulate(lengths.begin(), lengths.begin() + count, i64{0});
  }
  return tokens;
}

// The smallest number of epochs with epochs * tokens >= samples * seq_length + extra.
i64 epochs_for(i64 samples, i64 tokens, const GptIndexRequest& request, const std::string& name) {
  constexpr i64 most = std::numeric_limits<i64>::max() / 4;
  check(samples >= 0 && samples <= most / request.seq_length,
        "{} samples of {} tokens cannot be taken from {}: too many", samples, request.seq_length, name);
  const i64 wanted = samples * request.seq_length + (request.add_extra_token ? 1 : 0);
  return std::max<i64>(1, (wanted + tokens - 1) / tokens);
}

}  // namespace

GptIndexPlan plan_gpt_index(const TokenSource& source, const GptIndexRequest& request) {
  const Range& range = request.sequences;
  const i64 length = request.seq_length, extra = request.add_extra_token ? 1 : 0;
  check(length > 0, "--seq-length is {}: want 1 or more", length);
  check(range.end <= std::numeric_limits<i32>::max(), "{} has more than 2147483647 sequences: split it", source.name());
  GptIndexPlan plan;
  const i64 tokens = plan.tokens_per_epoch = tokens_of(source, range);
  check(tokens > 0, "sequences {} to {} of {} hold no tokens: give more data, or another --split", range.begin,
        range.end, source.name());
  if (request.samples) plan.epochs = epochs_for(*request.samples, tokens, request, source.name());

  constexpr i64 most = std::numeric_limits<u32>::max() - 2;
  check(plan.epochs <= most / range.size(), "{} must be read {} times for {} samples: too often; give more data",
        source.name(), plan.epochs, request.samples.value_or(0));
  const i64 all = plan.epochs * tokens - extra;
  // Megatron divides in single precision here
  plan.samples = request.drop_last ? all / length : i64(std::ceil(float(all) / float(length)));
  check(plan.samples <= most, "{} gives {} samples of {} tokens: at most {} can be indexed", source.name(),
        plan.samples, length, most);
  if (plan.epochs > 1) {
    constexpr double kWhole = 0.80;  // if less of the last epoch is used, it is shuffled separately
    plan.samples_before_last = ((plan.epochs - 1) * tokens - extra) / length;
    const i64 last = *request.samples - plan.samples_before_last, whole = (tokens - extra) / length;
    plan.separate_last_epoch = last < i64(kWhole * double(whole));
  }
  return plan;
}

GptIndex build_gpt_index(const TokenSource& source, const GptIndexRequest& request, i64 cut_stride) {
  const GptIndexPlan plan = plan_gpt_index(source, request);
  RandomState random(request.seed);
  std::vector<i32> documents = build_documents(request.sequences, plan, random);
  const SampleStream stream{source, documents, request.seq_length, request.add_extra_token};
  std::vector<SamplePosition> cuts = build_cuts(stream, plan.samples, cut_stride);
  return {std::move(documents), std::move(cuts), cut_stride, build_shuffle(plan, random)};
}

}  // namespace megalith
