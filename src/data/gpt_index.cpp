#include "data/gpt_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "data/numpy_random.h"

namespace megalith {
namespace {

void append_range(std::vector<i32>& documents, const Range& range, i64 times) {
  for (i64 t = 0; t < times; ++t)
    for (i64 s = range.begin; s < range.end; ++s) documents.push_back(i32(s));
}

std::vector<i32> build_documents(const Range& range, const GptIndexPlan& plan, RandomState& random) {
  std::vector<i32> documents;
  documents.reserve(std::size_t(plan.epochs * range.size()));
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

std::vector<SamplePosition> build_samples(const TokenSource& source, const GptIndexRequest& request, i64 samples,
                                          const std::vector<i32>& documents) {
  const i64 extra = request.add_extra_token ? 1 : 0;
  std::vector<SamplePosition> cuts{{0, 0}};
  cuts.reserve(std::size_t(samples) + 1);
  std::size_t entry = 0;
  i64 offset = 0, length = source.length(documents[0]);
  for (i64 k = 0; k < samples; ++k) {
    i64 wanted = request.seq_length + extra;
    while (wanted > length - offset) {
      wanted -= length - offset;
      if (entry + 1 == documents.size()) {
        wanted = 0, offset = length - extra;  // the last sample is a partial one
        break;
      }
      ++entry, offset = 0;
      length = source.length(documents[entry]);
    }
    if (wanted > 0) offset += wanted - extra;  // the sample ends in this document, possibly with its last token
    cuts.push_back({u32(entry), i32(offset)});
  }
  return cuts;
}

std::vector<u32> build_shuffle(const GptIndexPlan& plan, RandomState& random) {
  std::vector<u32> shuffle(std::size_t(plan.samples));
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
  i64& tokens = plan.tokens_per_epoch;
  for (i64 s = range.begin; s < range.end; ++s) tokens += source.length(s);
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
    constexpr double kWhole = 0.80;  // a last epoch that is used for less than this is kept apart
    plan.samples_before_last = ((plan.epochs - 1) * tokens - extra) / length;
    const i64 last = *request.samples - plan.samples_before_last, whole = (tokens - extra) / length;
    plan.separate_last_epoch = last < i64(kWhole * double(whole));
  }
  return plan;
}

GptIndex build_gpt_index(const TokenSource& source, const GptIndexRequest& request) {
  const GptIndexPlan plan = plan_gpt_index(source, request);
  RandomState random(request.seed);
  GptIndex index;
  index.documents = build_documents(request.sequences, plan, random);
  index.samples = build_samples(source, request, plan.samples, index.documents);
  index.shuffle = build_shuffle(plan, random);
  return index;
}

}  // namespace megalith
