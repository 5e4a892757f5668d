#include "data/masked_datasets.h"

#include <numeric>

#include "base/check.h"
#include "base/log.h"
#include "data/blend.h"
#include "data/blend_builder.h"
#include "data/blended_dataset.h"
#include "data/data_paths.h"
#include "data/indexed_dataset.h"
#include "data/mock_sentences.h"
#include "data/normalize.h"

namespace megalith {
namespace {

constexpr const char* kMockSentencesSplit = "8,1,1";

struct Documents {
  std::shared_ptr<const TokenSource> sentences;
  std::vector<i64> begins;
};

Documents open_documents(const std::string& prefix) {
  const auto data = std::make_shared<IndexedDataset>(prefix);
  std::vector<i64> begins;
  for (i64 d = 0; d <= data->documents(); ++d) begins.push_back(data->document_begin(d));
  return {data, std::move(begins)};
}

class MaskedSplit {
 public:
  MaskedSplit(const DataConfig& config, const MakeMasked& make, Split split, std::string split_text)
      : config_(config), make_(make), split_(split), split_text_(std::move(split_text)) {}

  // Null if no samples are requested, or the split has weight zero.
  std::shared_ptr<const Dataset> of_paths(const Blend& blend, std::optional<i64> samples) const {
    if (blend.prefixes.empty() || !wanted(samples)) return nullptr;
    if (blend.prefixes.size() == 1) return one(open_documents(blend.prefixes[0]), samples);
    return blend.weights.empty() ? unweighted(blend, samples) : weighted(blend, samples);
  }

  std::shared_ptr<const Dataset> of_mock(i64 tokens, std::optional<i64> samples) const {
    if (!wanted(samples)) return nullptr;
    const auto mock = std::make_shared<MockSentences>(tokens);
    return one({mock, mock->document_begins()}, samples);
  }

 private:
  using Parts = std::vector<std::shared_ptr<const Dataset>>;

  std::optional<Fraction> fraction() const {
    return split_text_.empty() ? Fraction{0, 1} : parse_split(split_text_)[std::size_t(split_)];
  }
  bool wanted(std::optional<i64> samples) const { return samples != 0 && fraction(); }

  // Null if the validation or test split has no document.
  std::shared_ptr<const Dataset> one(const Documents& all, std::optional<i64> samples) const {
    const i64 documents = i64(all.begins.size()) - 1;
    const Range r = *split_ranges(SplitMatrix{fraction(), {}, {}}, documents)[0];
    if (r.size() == 0 && split_ != Split::train) {
      log::say(
          "> {} has {} documents, none of which --split \"{}\" gives to the {} set: the run continues without them",
          all.sentences->name(), documents, split_text_, name_of(split_));
      return nullptr;
    }
    check(r.size() > 0, "{} has {} documents, none of which --split \"{}\" gives to the {} set: change the split",
          all.sentences->name(), documents, split_text_, name_of(split_));
    return make_(all.sentences, {all.begins.begin() + r.begin, all.begins.begin() + r.end + 1}, samples);
  }

  std::shared_ptr<const Dataset> weighted(const Blend& blend, std::optional<i64> samples) const {
    check(samples.has_value(), "a blend with weights has no natural size: drop the weights, or --full-validation");
    std::vector<double> weights = normalize(blend.weights, "the list of weights of the data");
    Parts parts;
    std::vector<double> kept;
    i64 size = 0;
    for (std::size_t d = 0; d < weights.size(); ++d) {
      auto part =
          one(open_documents(blend.prefixes[d]), blend_built(weights[d], *samples, config_.mid_level_dataset_surplus));
      if (!part) continue;
      parts.push_back(std::move(part)), kept.push_back(weights[d]), size += blend_used(weights[d], *samples);
    }
    if (parts.empty()) return nullptr;
    return blended(std::move(parts), plan_blend(normalize(kept, "the list of weights of the data"), size));
  }

  std::shared_ptr<const Dataset> unweighted(const Blend& blend, std::optional<i64> samples) const {
    Parts parts;
    std::vector<i64> sizes;
    for (const std::string& prefix : blend.prefixes) {
      auto part = one(open_documents(prefix), std::nullopt);
      if (part) sizes.push_back(part->size()), parts.push_back(std::move(part));
    }
    if (parts.empty()) return nullptr;
    if (!samples) return blended(std::move(parts), plan_exhaustive_blend(sizes));
    const i64 size = std::min(*samples, std::accumulate(sizes.begin(), sizes.end(), i64{0}));
    const std::vector<double> shares(sizes.begin(), sizes.end());
    return blended(std::move(parts), plan_blend(normalize(shares, "the blend's sizes"), size));
  }

  static std::shared_ptr<const Dataset> blended(Parts parts, const BlendPlan& plan) {
    BlendBuilder builder(plan);
    for (i64 task = 0; task < builder.tasks(); ++task) builder.make(task);
    return std::make_shared<BlendedDataset>(std::move(parts), builder.finish());
  }

  const DataConfig& config_;
  const MakeMasked& make_;
  Split split_;
  std::string split_text_;
};

}  // namespace

Datasets build_masked_datasets(const DataConfig& given, const SampleCounts& counts, i64 mock_tokens,
                               const MakeMasked& make) {
  check_data_config(given);
  const DataConfig c = with_paths_from_files(given);
  const auto build = [&](Split split) {
    const std::vector<std::string>& own = own_path(c, split);
    const std::string otherwise = c.mock_data ? kMockSentencesSplit : c.data_path.empty() ? "" : kDefaultSplit;
    const MaskedSplit part(c, make, split, c.split.empty() ? otherwise : c.split);
    if (c.mock_data) return part.of_mock(mock_tokens, counts.of(split));
    const std::string flag = own.empty() ? "--data-path" : fmt::format("--{}-data-path", name_of(split));
    return part.of_paths(parse_blend(own.empty() ? c.data_path : own, flag), counts.of(split));
  };
  return {.train = build(Split::train), .valid = build(Split::valid), .test = build(Split::test)};
}

}  // namespace megalith
