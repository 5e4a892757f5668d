// Splits, blends and GPT indices against what Megatron gives.
#include <numeric>

#include "data/blend.h"
#include "data/gpt_dataset.h"
#include "data/gpt_index.h"
#include "data/index_cache.h"
#include "data/md5.h"
#include "data/normalize.h"
#include "data/split.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

std::vector<std::vector<i64>> pairs(const std::vector<SamplePosition>& cuts) {
  std::vector<std::vector<i64>> result;
  for (const SamplePosition& c : cuts) result.push_back({i64(c.entry), c.offset});
  return result;
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
  const GptIndex index = build_gpt_index(*source, request);
  EXPECT_EQ(index.documents, expected["document_index"].get<std::vector<i32>>());
  EXPECT_EQ(pairs(index.samples), expected["sample_index"].get<std::vector<std::vector<i64>>>());
  EXPECT_EQ(index.shuffle, expected["shuffle_index"].get<std::vector<u32>>());
  const GptDataset dataset(
      source, index,
      {.seq_length = request.seq_length, .vocab_size = 5000, .eod = 4999, .add_extra_token = request.add_extra_token});
  EXPECT_EQ(dataset.size(), expected["length"].get<i64>());
  compare_rows(dataset, expected["first_samples"]);

  const DataConfig config{.tokenizer_arguments = {{"vocab_size", "5000"}}};
  const std::string description = index_description("a", request, {config, split, v["split"]});
  EXPECT_EQ(description, expected["unique_description"].get<std::string>());
  EXPECT_EQ(md5_hex(description), expected["unique_description_hash"].get<std::string>());
}

}  // namespace

TEST(Split, equals_megatron) {
  NEED_VECTOR("split_matrix.json");
  for (const Json& v : read_vector("split_matrix.json")) {
    const SplitMatrix matrix = parse_split(v["split"]);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(matrix[i].has_value(), !v["matrix"][i].is_null()) << v["split"];
      if (matrix[i]) {
        EXPECT_EQ(*matrix[i], (Fraction{v["matrix"][i][0], v["matrix"][i][1]})) << v["split"];
      }
    }
    for (const auto& [elements, expected] : v["ranges"].items()) {
      const SplitRanges ranges = split_ranges(matrix, std::stoll(elements));
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(ranges[i].has_value(), !expected[i].is_null());
        if (ranges[i]) {
          EXPECT_EQ(*ranges[i], (Range{expected[i][0], expected[i][1]})) << v["split"] << " " << elements;
        }
      }
    }
  }
}

TEST(Split, bounds_are_rounded_half_to_even) {
  const SplitMatrix halves = parse_split("1,1");
  for (auto [elements, bound] : {std::pair<i64, i64>{1, 0}, {3, 2}, {5, 2}, {7, 4}, {9, 4}})
    EXPECT_EQ(split_ranges(halves, elements)[0]->end, bound) << elements;
}

TEST(Split, bad_text_is_named) {
  for (const char* bad : {"", " ", "a", "1,2,3,4", "1.2.3", ".", "-1,2", "0,0,0", "1e3,1", "969;30;1", "nan", "1,inf"})
    EXPECT_NE(error_of([&] { parse_split(bad); }).find("--split"), std::string::npos) << bad;
  EXPECT_TRUE(parse_split("949/50/1")[2].has_value());
}

TEST(Normalize, sums_like_numpy) {
  std::vector<double> ones(1000, 0.1);
  EXPECT_EQ(numpy_sum(std::span(ones).first(7)), 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1);
  EXPECT_EQ(numpy_sum(std::span(ones).first(8)), ((0.1 + 0.1) + (0.1 + 0.1)) + ((0.1 + 0.1) + (0.1 + 0.1)));
  EXPECT_EQ(numpy_sum(std::span(ones)), numpy_sum(std::span(ones).first(496)) + numpy_sum(std::span(ones).first(504)));
  EXPECT_EQ(numpy_sum({}), 0);
}

TEST(Blend, indices_equal_megatron) {
  NEED_VECTOR("blending.json");
  const Json vectors = read_vector("blending.json");
  for (const Json& v : vectors["indices"]) {
    BlendIndex index;
    if (v["kind"] == "weighted") {
      const std::vector<double> weights = normalize(v["weights"].get<std::vector<double>>(), "weights");
      EXPECT_EQ(weights, v["normalized"].get<std::vector<double>>());
      index = build_blend_index(weights, v["size"]);
    } else {
      index = build_exhaustive_blend_index(v["sizes"].get<std::vector<i64>>());
    }
    EXPECT_EQ(index.datasets, v["dataset_index"].get<std::vector<std::int16_t>>());
    EXPECT_EQ(index.samples, v["dataset_sample_index"].get<std::vector<i64>>());
  }
}

TEST(Blend, sizes_equal_megatron) {
  NEED_VECTOR("blending.json");
  const Json vectors = read_vector("blending.json");
  for (const Json& v : vectors["sizes"]) {
    const std::vector<double> weights = normalize(v["weights"].get<std::vector<double>>(), "weights");
    for (std::size_t d = 0; d < weights.size(); ++d)
      for (int split = 0; split < 3; ++split) {
        EXPECT_EQ(blend_used(weights[d], v["target"][split]), v["used"][d][split].get<i64>());
        EXPECT_EQ(blend_built(weights[d], v["target"][split], 0.005), v["built"][d][split].get<i64>());
      }
  }
}

TEST(Blend, reads_data_path) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(parse_blend({"a"}, "f").prefixes, Strings{"a"});
  EXPECT_EQ(parse_blend({"a", " b ", "c"}, "f").prefixes, (Strings{"a", "b", "c"}));
  EXPECT_TRUE(parse_blend({"a", "b"}, "f").weights.empty());
  const Blend pairs = parse_blend({"0.3", "a", "+7e-1", "b"}, "f");
  EXPECT_EQ(pairs.prefixes, (Strings{"a", "b"}));
  EXPECT_EQ(pairs.weights, (std::vector<double>{0.3, 0.7}));
  EXPECT_EQ(parse_blend({"1", "a", "2"}, "f").prefixes.size(), 3u);  // odd: prefixes, whatever they look like
  EXPECT_NE(error_of([] { parse_blend({"0.3", "a", "b", "c"}, "--data-path"); }).find("1 of 2"), std::string::npos);
  error_of([] { parse_blend({" "}, "--data-path"); });
  error_of([] { normalize(std::vector<double>{1, -1}, "weights"); });
  error_of([] { normalize(std::vector<double>{0, 0}, "weights"); });
}

TEST(GptIndex, equals_megatron) {
  NEED_VECTOR("gpt_sampling.json");
  for (const Json& v : read_vector("gpt_sampling.json")) {
    SCOPED_TRACE(v["note"].get<std::string>());
    for (Split split : kSplits) {
      const auto found = v["splits"].find(name_of(split));
      if (found != v["splits"].end() && !found->is_null()) compare_split(v, *found, split);
    }
  }
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
  error_of([&] { build_gpt_index(source, {.sequences = {0, 0}, .samples = 1, .seq_length = 4}); });
  error_of([&] { build_gpt_index(source, {.sequences = {0, 3}, .samples = i64{1} << 62, .seq_length = 4}); });
  error_of([&] { build_gpt_index(source, {.sequences = {0, 3}, .samples = i64{1} << 40, .seq_length = 4}); });
  error_of([&] { build_gpt_index(source, {.sequences = {0, 3}, .samples = 1, .seq_length = 0}); });
}

}  // namespace megalith
