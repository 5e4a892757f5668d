#include "data/sft_datasets.h"

#include <map>

#include "base/check.h"
#include "base/log.h"
#include "data/blend.h"
#include "data/data_paths.h"
#include "data/normalize.h"

namespace megalith {

namespace {

class Builder {
 public:
  Builder(const DataConfig& config, const ReadConversations& read, const TellReport& tell)
      : config_(config), read_(read), tell_(tell) {}

  // Files that the split shares with other splits, by `split_text`, or has alone (empty).
  std::shared_ptr<const Dataset> build(const Blend& blend, Split split, const std::string& split_text,
                                       std::optional<i64> samples) {
    SplitMatrix matrix;
    matrix[std::size_t(split)] = Fraction{0, 1};
    if (!split_text.empty()) matrix = parse_split(split_text);
    if (blend.prefixes.empty() || samples == 0 || !matrix[std::size_t(split)]) return nullptr;
    std::vector<double> weights(blend.prefixes.size());
    if (!blend.weights.empty()) weights = normalize(blend.weights, "the list of weights of the data");
    std::vector<SftPart> parts;
    for (std::size_t f = 0; f < blend.prefixes.size(); ++f) {
      std::shared_ptr<const Conversations> file = open(blend.prefixes[f]);
      const Range range = *split_ranges(matrix, file->size())[std::size_t(split)];
      check(range.size() > 0 || split != Split::train,
            "{} has {} conversations, none of which --split \"{}\" gives to the {} set: change it", file->name,
            file->size(), split_text, name_of(split));
      if (range.size() > 0)
        parts.push_back({std::move(file), range, weights[f]});
      else
        log::say(
            "> {} has {} conversations, none of which --split \"{}\" gives to the {} set: the run continues without "
            "them",
            file->name, file->size(), split_text, name_of(split));
    }
    if (parts.empty()) return nullptr;
    auto set = std::make_shared<SftDataset>(std::move(parts), config_, samples);
    tell_(split, set->report());
    return set;
  }

 private:
  std::shared_ptr<const Conversations> open(const std::string& path) {
    std::shared_ptr<const Conversations>& file = open_[path];
    if (!file) file = read_(path);
    check(file->size() > 0, "{} holds no conversation to train on", path);
    return file;
  }

  const DataConfig& config_;
  const ReadConversations& read_;
  const TellReport& tell_;
  std::map<std::string, std::shared_ptr<const Conversations>> open_;
};

}  // namespace

Datasets build_sft_datasets(const DataConfig& given, const SampleCounts& counts, const ReadConversations& read,
                            const TellReport& tell) {
  const DataConfig c = with_paths_from_files(given);
  Builder builder(c, read, tell);
  const auto build = [&](Split split, const std::vector<std::string>& own, const char* flag) {
    const bool shared = !c.data_path.empty();
    const std::string text = c.split.empty() ? kDefaultSplit : c.split;
    const char* const named = shared ? "--data-path" : flag;
    const Blend blend = parse_blend(shared ? c.data_path : own, named);
    if (!shared || split == Split::train)
      for (const std::string& file : blend.left_out) log::say("> {} {} has the weight 0: it is skipped", named, file);
    return builder.build(blend, split, shared ? text : "", counts.of(split));
  };
  return {.train = build(Split::train, c.train_data_path, "--train-data-path"),
          .valid = build(Split::valid, c.valid_data_path, "--valid-data-path"),
          .test = build(Split::test, c.test_data_path, "--test-data-path")};
}

}  // namespace megalith
