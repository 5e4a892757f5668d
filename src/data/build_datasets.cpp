#include "data/build_datasets.h"

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/check.h"
#include "base/log.h"
#include "base/threads.h"
#include "data/blend.h"
#include "data/blend_builder.h"
#include "data/blended_dataset.h"
#include "data/data_paths.h"
#include "data/gpt_dataset.h"
#include "data/index_cache.h"
#include "data/indexed_dataset.h"
#include "data/mock_source.h"
#include "data/normalize.h"
#include "data/repeated_dataset.h"

namespace megalith {
namespace {

constexpr const char* kMockSplit = "1,1,1";
constexpr i64 kMostMockSamples = 1'000'000;  // limits the time to index mock data; a longer run repeats samples

using SourcePtr = std::shared_ptr<const TokenSource>;

// Opens each file once, even if a blend names it several times.
class Sources {
 public:
  // Opens files in parallel; those already open are skipped.
  void open_all(const std::vector<std::string>& prefixes) {
    std::vector<std::pair<const std::string*, SourcePtr*>> missing;
    for (const std::string& prefix : prefixes)
      if (const auto [at, is_new] = open_.try_emplace(prefix); is_new) missing.emplace_back(&at->first, &at->second);
    parallel_tasks(i64(missing.size()), [&](i64 i) {
      const auto [prefix, source] = missing[std::size_t(i)];
      *source = std::make_shared<IndexedDataset>(*prefix);
    });
  }
  SourcePtr at(const std::string& prefix) const { return open_.at(prefix); }

  SourcePtr mock(const DataConfig& c) {
    if (!mock_) mock_ = std::make_shared<MockSource>(c.vocab_size, c.eod);
    return mock_;
  }

 private:
  std::map<std::string, SourcePtr> open_;
  SourcePtr mock_;
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

// Builds the datasets of one split.
class SplitBuilder {
 public:
  // split_text is empty if each split has its own files: then the split takes all of them.
  SplitBuilder(const DataConfig& config, Sources& sources, const TextEdit& edit, Split split, std::string split_text)
      : config_(config), sources_(sources), edit_(edit), key_{config, split, std::move(split_text)} {}

  // Null if no samples are requested, no data are given, or the split has weight zero. Also if a validation or test
  // split has no document.
  std::shared_ptr<const Dataset> build(const Blend& named, std::optional<i64> samples) const {
    if (named.prefixes.empty() || !wanted(samples)) return nullptr;
    sources_.open_all(named.prefixes);
    const Blend blend = with_documents(named);
    const std::size_t n = blend.prefixes.size();
    if (n == 0) return nullptr;
    if (n == 1 && (blend.weights.empty() || key_.split_text.empty()))
      return one(sources_.at(blend.prefixes[0]), samples);
    return blend.weights.empty() ? unweighted(blend, samples) : weighted(blend, samples);
  }

  bool wanted(std::optional<i64> samples) const { return samples != 0 && fraction(); }

  std::shared_ptr<const Dataset> one(const SourcePtr& source, std::optional<i64> samples) const {
    const GptIndexRequest asked = request(*source, samples);
    return std::make_shared<GptDataset>(source, load_or_build_index(*source, asked, key_), sample_options(config_),
                                        plan_gpt_index(*source, asked).tokens_per_epoch, edit_, asked);
  }

 private:
  using Parts = std::vector<std::shared_ptr<const Dataset>>;

  std::optional<Fraction> fraction() const {
    return key_.split_text.empty() ? Fraction{0, 1} : parse_split(key_.split_text)[std::size_t(key_.split)];
  }

  // The datasets with documents in this split: a small --split share of a small file may have none. If no dataset has
  // any, request() refuses to train.
  Blend with_documents(const Blend& named) const {
    if (key_.split == Split::train || key_.split_text.empty()) return named;
    Blend kept;
    for (std::size_t i = 0; i < named.prefixes.size(); ++i) {
      const SourcePtr source = sources_.at(named.prefixes[i]);
      if (source->sequences() == 0 || range(*source).size() > 0) {
        kept.prefixes.push_back(named.prefixes[i]);
        if (!named.weights.empty()) kept.weights.push_back(named.weights[i]);
      } else {
        log::say(
            "> {} has {} documents, none of which --split \"{}\" gives to the {} set: the run continues without them",
            source->name(), source->sequences(), key_.split_text, name_of(key_.split));
      }
    }
    return kept;
  }

  Range range(const TokenSource& source) const {
    return *split_ranges(SplitMatrix{fraction(), {}, {}}, source.sequences())[0];
  }

  // Samples of one source. At least one epoch, also for 0 samples (a dataset with weight 0 in a blend).
  GptIndexRequest request(const TokenSource& source, std::optional<i64> samples) const {
    check(source.sequences() > 0, "{} is empty: tokenize a text with preprocess-data", source.name());
    const Range all = range(source);
    check(all.size() > 0, "{} has {} documents, none of which --split \"{}\" gives to the {} set: change the split",
          source.name(), source.sequences(), key_.split_text, name_of(key_.split));
    return {.sequences = all,
            .samples = samples,
            .seq_length = config_.seq_length,
            .seed = u32(config_.seed),
            .add_extra_token = config_.add_extra_token,
            .drop_last = key_.split != Split::valid || config_.drop_last_partial_validation_sequence};
  }

  std::shared_ptr<const Dataset> weighted(const Blend& blend, std::optional<i64> samples) const {
    check(samples.has_value(), "a blend with weights has no natural size: drop the weights, or --full-validation");
    const std::vector<double> weights = normalize(blend.weights, "the list of weights of the data");
    std::vector<std::optional<i64>> built;
    i64 size = 0;
    for (double w : weights) {
      built.push_back(blend_built(w, *samples, config_.mid_level_dataset_surplus));
      size += blend_used(w, *samples);
    }
    // Megatron normalizes twice.
    const std::vector<double> again = normalize(weights, "the list of weights of the data");
    return blended(blend, built, plan_blend(again, size), again, size,
                   [weights, surplus = config_.mid_level_dataset_surplus](std::size_t part, i64 n) {
                     return blend_built(weights[part], n, surplus);
                   });
  }

  std::shared_ptr<const Dataset> unweighted(const Blend& blend, std::optional<i64> samples) const {
    const std::vector<std::optional<i64>> built(blend.prefixes.size());
    std::vector<i64> sizes;
    for (const std::string& prefix : blend.prefixes) {
      const SourcePtr source = sources_.at(prefix);
      sizes.push_back(plan_gpt_index(*source, request(*source, std::nullopt)).samples);
    }
    if (!samples) return blended(blend, built, plan_exhaustive_blend(sizes), sizes, std::nullopt);
    const i64 size = std::min(*samples, std::accumulate(sizes.begin(), sizes.end(), i64{0}));
    const std::vector<double> weights = normalize(std::vector<double>(sizes.begin(), sizes.end()), "the blend's sizes");
    return blended(blend, built, plan_blend(weights, size), weights, size, [](std::size_t, i64) { return i64{1}; });
  }

  // Builds the index of the blend and those of its datasets in parallel. The index's name has `weights` and `size`.
  std::shared_ptr<const Dataset> blended(const Blend& blend, const std::vector<std::optional<i64>>& built,
                                         const BlendPlan& plan, const nlohmann::ordered_json& weights,
                                         std::optional<i64> size, const BlendedDataset::Built& built_for = {}) const {
    std::vector<nlohmann::ordered_json> descriptions;
    for (std::size_t d = 0; d < built.size(); ++d)
      descriptions.push_back(
          gpt_description(blend.prefixes[d], request(*sources_.at(blend.prefixes[d]), built[d]), key_));
    const auto name = blend_description(std::move(descriptions), key_.split, weights, size);
    const bool keeps = !config_.data_cache_path.empty();
    std::optional<BlendIndex> index;
    BlendBuilder builder(plan);
    const i64 blend_tasks = keeps ? 1 : builder.tasks();
    Parts parts(built.size());
    parallel_tasks(i64(built.size()) + blend_tasks, [&](i64 task) {
      if (task >= blend_tasks) {
        const auto d = std::size_t(task - blend_tasks);
        parts[d] = one(sources_.at(blend.prefixes[d]), built[d]);
      } else if (keeps) {
        index.emplace(load_or_build_blend(plan, name, blend.prefixes, key_));
      } else {
        builder.make(task);
      }
    });
    return std::make_shared<BlendedDataset>(std::move(parts), keeps ? std::move(*index) : builder.finish(), built_for);
  }

  const DataConfig& config_;
  Sources& sources_;
  const TextEdit& edit_;
  IndexKey key_;
};

}  // namespace

const std::vector<std::string>& own_path(const DataConfig& c, Split split) {
  return split == Split::train ? c.train_data_path : split == Split::valid ? c.valid_data_path : c.test_data_path;
}

void check_data_config(const DataConfig& c) {
  check(c.ways_to_name_data() > 0,
        "there is no training data: give --data-path PREFIX (made by preprocess-data) or --mock-data");
  check(c.ways_to_name_data() == 1,
        "--data-path, --train/valid/test-data-path, --data-args-path, --per-split-data-args-path and --mock-data are "
        "given together: give one of them");
  check((!c.has_own_paths() && c.per_split_data_args_path.empty()) || c.split.empty(),
        "--split \"{}\" has no meaning with --train/valid/test-data-path: drop one of them", c.split);
  check(c.seq_length > 0 && c.seq_length < i64{1} << 31, "--seq-length is {}: want 1 to 2147483647", c.seq_length);
  check(c.seed >= 0 && c.seed < i64{1} << 32, "--seed is {}: the order of the data needs 0 to 4294967295", c.seed);
}

namespace {

std::shared_ptr<const Dataset> build_split(const DataConfig& c, Sources& sources, const TextEdit& edit, Split split,
                                           std::optional<i64> samples) {
  const std::vector<std::string>& own = own_path(c, split);
  const std::string default_split = c.mock_data ? kMockSplit : c.data_path.empty() ? "" : kDefaultSplit;
  const SplitBuilder builder(c, sources, edit, split, c.split.empty() ? default_split : c.split);
  if (!c.mock_data) {
    const std::string flag = own.empty() ? "--data-path" : fmt::format("--{}-data-path", name_of(split));
    const Blend blend = parse_blend(own.empty() ? c.data_path : own, flag);
    if (!own.empty() || split == Split::train)
      for (const std::string& prefix : blend.left_out)
        log::say("> {} {} has the weight 0: it is skipped", flag, prefix);
    return builder.build(blend, samples);
  }
  if (!builder.wanted(samples)) return nullptr;
  if (samples.value_or(0) <= kMostMockSamples) return builder.one(sources.mock(c), samples);
  return std::make_shared<RepeatedDataset>(builder.one(sources.mock(c), kMostMockSamples), *samples);
}

// One dataset for each prefix of the validation set.
std::vector<std::shared_ptr<const Dataset>> build_each_valid(const DataConfig& config, Sources& sources,
                                                             const TextEdit& edit, std::optional<i64> samples) {
  const bool own = config.has_own_paths();
  const Blend blend = parse_blend(own ? config.valid_data_path : config.data_path, "--multiple-validation-sets");
  check(blend.weights.empty() && blend.left_out.empty(),
        "--multiple-validation-sets evaluates each dataset separately: leave out the weights of the validation data");
  check(config.validation_set_names.empty() || config.validation_set_names.size() == blend.prefixes.size(),
        "--validation-set-names has {} names for {} validation datasets: give one for each",
        config.validation_set_names.size(), blend.prefixes.size());
  std::vector<std::shared_ptr<const Dataset>> sets;
  for (const std::string& prefix : blend.prefixes) {
    DataConfig one = config;
    (own ? one.valid_data_path : one.data_path) = {prefix};
    sets.push_back(build_split(one, sources, edit, Split::valid, samples));
  }
  return sets;
}

}  // namespace

Datasets build_datasets(const DataConfig& given, const SampleCounts& counts, const TextEdit& edit) {
  check_data_config(given);
  const DataConfig config = with_paths_from_files(given);
  Sources sources;
  const auto build = [&](Split split) { return build_split(config, sources, edit, split, counts.of(split)); };
  Datasets sets{.train = build(Split::train), .valid = nullptr, .test = build(Split::test)};
  if (config.multiple_validation_sets)
    sets.valid_sets = build_each_valid(config, sources, edit, counts.valid);
  else
    sets.valid = build(Split::valid);
  return sets;
}

}  // namespace megalith
