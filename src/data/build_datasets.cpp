#include "data/build_datasets.h"

#include <array>
#include <map>
#include <numeric>

#include "base/check.h"
#include "data/blend.h"
#include "data/blended_dataset.h"
#include "data/gpt_dataset.h"
#include "data/index_cache.h"
#include "data/indexed_dataset.h"
#include "data/mock_source.h"
#include "data/normalize.h"

namespace megalith {
namespace {

constexpr const char* kDefaultSplit = "969, 30, 1";
constexpr const char* kMockSplit = "1,1,1";

// Every file is opened once, however often a blend names it.
class Sources {
 public:
  std::shared_ptr<const TokenSource> open(const std::string& prefix) {
    std::shared_ptr<const TokenSource>& source = open_[prefix];
    if (!source) source = std::make_shared<IndexedDataset>(prefix);
    return source;
  }

  std::shared_ptr<const TokenSource> mock(const DataConfig& c) {
    if (!mock_) mock_ = std::make_shared<MockSource>(c.vocab_size, c.eod);
    return mock_;
  }

 private:
  std::map<std::string, std::shared_ptr<const TokenSource>> open_;
  std::shared_ptr<const TokenSource> mock_;
};

GptSampleOptions sample_options(const DataConfig& c) {
  return {.seq_length = c.seq_length,
          .vocab_size = c.vocab_size,
          .eod = c.eod,
          .pad = c.pad,
          .add_extra_token = c.add_extra_token,
          .reset_position_ids = c.reset_position_ids,
          .reset_attention_mask = c.reset_attention_mask,
          .eod_mask_loss = c.eod_mask_loss};
}

// One split of the datasets of a run.
class SplitBuilder {
 public:
  // split_text is empty where each split has its own files, of which it takes everything.
  SplitBuilder(const DataConfig& config, Sources& sources, Split split, std::string split_text)
      : config_(config), sources_(sources), split_(split), split_text_(std::move(split_text)) {}

  // Null if no samples are asked for, no data are named or the split has weight zero.
  std::shared_ptr<const Dataset> build(const Blend& blend, std::optional<i64> samples) const {
    const std::size_t n = blend.prefixes.size();
    if (n == 0 || !wanted(samples)) return nullptr;
    if (n == 1 && (blend.weights.empty() || split_text_.empty())) return one(sources_.open(blend.prefixes[0]), samples);
    return blend.weights.empty() ? unweighted(blend, samples) : weighted(blend, samples);
  }

  bool wanted(std::optional<i64> samples) const { return samples != 0 && fraction(); }

  // Samples of one source; at least one epoch, also for 0 samples (a dataset of weight 0 in a blend).
  std::shared_ptr<const Dataset> one(std::shared_ptr<const TokenSource> source, std::optional<i64> samples) const {
    const SplitRanges ranges = split_ranges(SplitMatrix{fraction(), {}, {}}, source->sequences());
    const Range range = *ranges[0];
    check(source->sequences() > 0, "{} is empty: tokenize a text with preprocess-data", source->name());
    check(range.size() > 0, "{} has {} sequences, none of which --split \"{}\" gives to the {} set: change the split",
          source->name(), source->sequences(), split_text_, name_of(split_));
    const GptIndexRequest request{.sequences = range,
                                  .samples = samples,
                                  .seq_length = config_.seq_length,
                                  .seed = u32(config_.seed),
                                  .add_extra_token = config_.add_extra_token,
                                  .drop_last = split_ != Split::valid || config_.drop_last_partial_validation_sequence};
    GptIndex index = load_or_build_index(*source, request, {config_, split_, split_text_});
    return std::make_shared<GptDataset>(std::move(source), std::move(index), sample_options(config_));
  }

 private:
  std::optional<Fraction> fraction() const {
    return split_text_.empty() ? Fraction{0, 1} : parse_split(split_text_)[std::size_t(split_)];
  }

  std::shared_ptr<const Dataset> weighted(const Blend& blend, std::optional<i64> samples) const {
    check(samples.has_value(), "a blend with weights has no natural size: drop the weights, or --full-validation");
    const std::vector<double> weights = normalize(blend.weights, "the list of weights of the data");
    std::vector<std::shared_ptr<const Dataset>> parts;
    i64 size = 0;
    for (std::size_t d = 0; d < weights.size(); ++d) {
      const i64 built = blend_built(weights[d], *samples, config_.mid_level_dataset_surplus);
      parts.push_back(one(sources_.open(blend.prefixes[d]), built));
      size += blend_used(weights[d], *samples);
    }
    const std::vector<double> again = normalize(weights, "the list of weights of the data");  // as Megatron: twice
    return std::make_shared<BlendedDataset>(std::move(parts), build_blend_index(again, size));
  }

  std::shared_ptr<const Dataset> unweighted(const Blend& blend, std::optional<i64> samples) const {
    std::vector<std::shared_ptr<const Dataset>> parts;
    std::vector<i64> sizes;
    for (const std::string& prefix : blend.prefixes) {
      parts.push_back(one(sources_.open(prefix), std::nullopt));
      sizes.push_back(parts.back()->size());
    }
    const i64 total = std::accumulate(sizes.begin(), sizes.end(), i64{0});
    if (!samples) return std::make_shared<BlendedDataset>(std::move(parts), build_exhaustive_blend_index(sizes));
    const std::vector<double> weights = normalize(std::vector<double>(sizes.begin(), sizes.end()), "the blend's sizes");
    return std::make_shared<BlendedDataset>(std::move(parts), build_blend_index(weights, std::min(*samples, total)));
  }

  const DataConfig& config_;
  Sources& sources_;
  Split split_;
  std::string split_text_;
};

const std::vector<std::string>& own_path(const DataConfig& c, Split split) {
  return split == Split::train ? c.train_data_path : split == Split::valid ? c.valid_data_path : c.test_data_path;
}

void check_config(const DataConfig& c) {
  const bool own = !c.train_data_path.empty() || !c.valid_data_path.empty() || !c.test_data_path.empty();
  const int ways = int(!c.data_path.empty()) + int(own) + int(c.mock_data);
  check(ways > 0, "there is no training data: give --data-path PREFIX (made by preprocess-data) or --mock-data");
  check(ways == 1, "--data-path, --train/valid/test-data-path and --mock-data are given together: give one of them");
  check(!own || c.split.empty(), "--split \"{}\" has no meaning with --train/valid/test-data-path: drop one of them",
        c.split);
  check(c.seq_length > 0 && c.seq_length < i64{1} << 31, "--seq-length is {}: want 1 to 2147483647", c.seq_length);
  check(c.seed >= 0 && c.seed < i64{1} << 32, "--seed is {}: the order of the data needs 0 to 4294967295", c.seed);
}

std::shared_ptr<const Dataset> build_split(const DataConfig& c, Sources& sources, Split split,
                                           std::optional<i64> samples) {
  const std::vector<std::string>& own = own_path(c, split);
  const std::string default_split = c.mock_data ? kMockSplit : c.data_path.empty() ? "" : kDefaultSplit;
  const SplitBuilder builder(c, sources, split, c.split.empty() ? default_split : c.split);
  if (!own.empty()) return builder.build(parse_blend(own, fmt::format("--{}-data-path", name_of(split))), samples);
  if (!c.mock_data) return builder.build(parse_blend(c.data_path, "--data-path"), samples);
  return builder.wanted(samples) ? builder.one(sources.mock(c), samples) : nullptr;
}

}  // namespace

Datasets build_datasets(const DataConfig& config, const SampleCounts& counts) {
  check_config(config);
  Sources sources;
  const auto build = [&](Split split) { return build_split(config, sources, split, counts.of(split)); };
  return {.train = build(Split::train), .valid = build(Split::valid), .test = build(Split::test)};
}

}  // namespace megalith
