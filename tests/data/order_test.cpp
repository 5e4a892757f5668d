// GPT indices compared with Megatron's.
#include <cmath>
#include <numeric>
#include <random>

#include "data/gpt_dataset.h"
#include "data/gpt_index.h"
#include "data/index_description.h"
#include "data/md5.h"
#include "data/python_json.h"
#include "data/split.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

std::vector<std::vector<i64>> pairs(const StoredArray<SamplePosition>& cuts) {
  std::vector<std::vector<i64>> result;
  for (const SamplePosition& c : cuts.all()) result.push_back({i64(c.entry), c.offset});
  return result;
}

template <class T>
std::vector<T> list(const StoredArray<T>& array) {
  return {array.all().begin(), array.all().end()};
}

void compare_rows(const Dataset& dataset, const Json& samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const OwnedRow row = get_row(dataset, i64(i));
    EXPECT_EQ(row.tokens, samples[i]["tokens"].get<std::vector<i32>>());
    EXPECT_EQ(row.labels, samples[i]["labels"].get<std::vector<i32>>());
    EXPECT_EQ(row.loss_mask, samples[i]["loss_mask"].get<std::vector<float>>());
    EXPECT_EQ(row.position_ids, samples[i]["position_ids"].get<std::vector<i32>>());
  }
}

// One split of one entry of gpt_sampling.json.
void compare_split(const Json& v, const Json& expected, Split split) {
  auto source = std::make_shared<RuleSource>(v["document_lengths"].get<std::vector<i64>>());
  const SplitRanges ranges = split_ranges(parse_split(v["split"]), source->sequences());
  const bool drop_last = split != Split::valid || v["drop_last_partial_validation_sequence"].get<bool>();
  const GptIndexRequest request{.sequences = *ranges[int(split)],
                                .samples = v["num_samples"][int(split)].get<i64>(),
                                .seq_length = v["sequence_length"],
                                .seed = v["seed"],
                                .add_extra_token = v["add_extra_token"],
                                .drop_last = drop_last};
  std::vector<i32> ids(request.sequences.size());
  std::iota(ids.begin(), ids.end(), i32(request.sequences.begin));
  EXPECT_EQ(ids, expected["document_ids"].get<std::vector<i32>>());
  const GptIndexPlan plan = plan_gpt_index(*source, request);
  EXPECT_EQ(plan.tokens_per_epoch, expected["num_tokens_per_epoch"].get<i64>());
  EXPECT_EQ(plan.epochs, expected["num_epochs"].get<i64>());
  const GptIndex index = build_gpt_index(*source, request, 1);
  EXPECT_EQ(list(index.documents), expected["document_index"].get<std::vector<i32>>());
  EXPECT_EQ(pairs(index.cuts), expected["sample_index"].get<std::vector<std::vector<i64>>>());
  EXPECT_EQ(list(index.shuffle), expected["shuffle_index"].get<std::vector<u32>>());
  const GptDataset dataset(
      source, index,
      {.seq_length = request.seq_length, .vocab_size = 5000, .eod = 4999, .add_extra_token = request.add_extra_token});
  EXPECT_EQ(dataset.size(), expected["length"].get<i64>());
  compare_rows(dataset, expected["first_samples"]);

  DataConfig config;
  config.tokenizer_arguments = {{"vocab_size", "5000"}};
  const std::string description = python_json(gpt_description("a", request, {config, split, v["split"]}));
  EXPECT_EQ(description, expected["unique_description"].get<std::string>());
  EXPECT_EQ(md5_hex(description), expected["unique_description_hash"].get<std::string>());
}

}  // namespace

TEST(GptIndex, equals_megatron) {
  for (const std::string& file : golden_vectors("gpt_sampling.json")) {
    SCOPED_TRACE(file);
    for (const Json& v : read_json(file)) {
      SCOPED_TRACE(v["note"].get<std::string>());
      for (Split split : kSplits) {
        const auto found = v["splits"].find(name_of(split));
        if (found != v["splits"].end() && !found->is_null()) compare_split(v, *found, split);
      }
    }
  }
}

TEST(GptIndex, kept_and_computed_cuts_give_the_same_samples) {
  std::mt19937 random(3);
  std::vector<i64> lengths;
  for (int d = 0; d < 300; ++d) lengths.push_back(i64(random() % 3 ? random() % 40 : 0));
  auto source = std::make_shared<RuleSource>(lengths);
  for (bool extra : {true, false}) {
    const GptIndexRequest request{
        .sequences = {0, 300}, .samples = 900, .seq_length = 11, .add_extra_token = extra, .drop_last = false};
    const GptSampleOptions options{.seq_length = 11, .vocab_size = 5000, .add_extra_token = extra};
    const GptDataset kept(source, build_gpt_index(*source, request, 1), options);
    const GptDataset computed(source, build_gpt_index(*source, request), options);
    ASSERT_EQ(kept.size(), computed.size());
    for (i64 i = 0; i < kept.size(); ++i) EXPECT_EQ(get_row(kept, i).tokens, get_row(computed, i).tokens) << i;
  }
}

TEST(PythonJson, prints_numbers_and_texts_as_python) {
  for (auto [value, text] : std::vector<std::pair<double, const char*>>{{0, "0.0"},
                                                                        {1, "1.0"},
                                                                        {0.1 + 0.2, "0.30000000000000004"},
                                                                        {1e-4, "0.0001"},
                                                                        {1e-5, "1e-05"},
                                                                        {1.5e-9, "1.5e-09"},
                                                                        {1e-100, "1e-100"},
                                                                        {123456789012345680, "1.2345678901234568e+17"},
                                                                        {1e15, "1000000000000000.0"},
                                                                        {1e16, "1e+16"},
                                                                        {5e-324, "5e-324"},
                                                                        {9007199254740993, "9007199254740992.0"}})
    EXPECT_EQ(python_repr(value), text);
  const nlohmann::ordered_json value = {{"z", "a\"\u00e9\u4e2d"}, {"a", {1, nullptr, true}}, {"e", Json::array()}};
  EXPECT_EQ(
      python_json(value),
      "{\n    \"z\": \"a\\\"\\u00e9\\u4e2d\",\n    \"a\": [\n        1,\n        null,\n        true\n    ],\n    "
      "\"e\": []\n}");
}

TEST(GptIndex, empty_documents_and_short_data) {
  auto source = std::make_shared<RuleSource>(std::vector<i64>{0, 3, 0, 0, 4, 1, 0});
  for (bool extra : {true, false})
    for (bool drop : {true, false})
      for (i64 samples : {0, 1, 5, 40})
        for (i64 length : {1, 2, 7, 8, 30}) {
          const GptIndexRequest request{.sequences = {0, 7},
                                        .samples = samples,
                                        .seq_length = length,
                                        .add_extra_token = extra,
                                        .drop_last = drop};
          const GptIndex index = build_gpt_index(*source, request);
          EXPECT_GE(index.size(), samples);
          const GptDataset dataset(source, index, {.seq_length = length, .vocab_size = 5000, .add_extra_token = extra});
          for (i64 i = 0; i < dataset.size(); ++i) {
            const OwnedRow row = get_row(dataset, i);
            for (i64 t = 0; t + 1 < length; ++t)
              if (row.loss_mask[t + 1] != 0) {
                EXPECT_EQ(row.labels[t], row.tokens[t + 1]);
              }
          }
        }
}

TEST(GptIndex, refuses_what_has_no_tokens_or_too_many_samples) {
  const RuleSource source({0, 0, 5});
  EXPECT_NE(error_of([&] {
              build_gpt_index(source, {.sequences = {0, 2}, .samples = 1, .seq_length = 4});
            }).find("rule"),
            std::string::npos);
  EXPECT_NE(error_of([&] { build_gpt_index(source, {.sequences = {0, 0}, .samples = 1, .seq_length = 4}); }), "");
  EXPECT_NE(error_of([&] {
              build_gpt_index(source, {.sequences = {0, 3}, .samples = i64{1} << 62, .seq_length = 4});
            }),
            "");
  EXPECT_NE(error_of([&] {
              build_gpt_index(source, {.sequences = {0, 3}, .samples = i64{1} << 40, .seq_length = 4});
            }),
            "");
  EXPECT_NE(error_of([&] { build_gpt_index(source, {.sequences = {0, 3}, .samples = 1, .seq_length = 0}); }), "");
}

}  // namespace megalith
