// Splits and blends compared with Megatron's.
#include <cmath>
#include <numeric>
#include <random>

#include "data/blend.h"
#include "data/blend_builder.h"
#include "data/blend_index.h"
#include "data/blend_lanes.h"
#include "data/normalize.h"
#include "data/split.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

struct BlendLists {
  std::vector<std::int16_t> datasets;
  std::vector<i64> samples;
  bool operator==(const BlendLists&) const = default;
};

// The index gives the same dataset for a single sample as it gave during its construction.
BlendLists lists_of(const BlendPlan& plan) {
  BlendLists built;
  const BlendIndex index(
      plan, [&](const BlendedSample& s) { built.datasets.push_back(s.dataset), built.samples.push_back(s.sample); });
  for (i64 k = 0; k < index.size(); k += 1 + index.size() / 100)
    EXPECT_EQ(index.at(k), (BlendedSample{built.datasets[k], built.samples[k]})) << k;
  return built;
}

// The definition: compares all datasets for each sample.
std::vector<std::int16_t> plain_rule(const BlendPlan& plan) {
  std::vector<std::int16_t> chosen;
  std::vector<i64> taken(plan.weights.size());
  for (i64 k = 0; k < plan.size; ++k) {
    const double time = std::max(double(k), 1.0);
    double greatest = std::numeric_limits<double>::lowest();
    std::size_t best = 0;
    for (std::size_t d = 0; d < taken.size(); ++d) {
      const volatile double due = plan.weights[d] * time;
      const double error = due - double(taken[d]);
      if (taken[d] < plan.limits[d] && error > greatest) greatest = error, best = d;
    }
    ++taken[best];
    chosen.push_back(std::int16_t(best));
  }
  return chosen;
}

}  // namespace

TEST(Split, equals_megatron) {
  for (const std::string& file : golden_vectors("split_matrix.json")) {
    SCOPED_TRACE(file);
    for (const Json& v : read_json(file)) {
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
  for (const std::string& file : golden_vectors("blending.json")) {
    SCOPED_TRACE(file);
    const Json vectors = read_json(file);
    for (const Json& v : vectors["indices"]) {
      BlendLists index;
      if (v["kind"] == "weighted") {
        const std::vector<double> weights = normalize(v["weights"].get<std::vector<double>>(), "weights");
        EXPECT_EQ(weights, v["normalized"].get<std::vector<double>>());
        index = lists_of(plan_blend(weights, v["size"]));
      } else {
        index = lists_of(plan_exhaustive_blend(v["sizes"].get<std::vector<i64>>()));
      }
      EXPECT_EQ(index.datasets, v["dataset_index"].get<std::vector<std::int16_t>>());
      EXPECT_EQ(index.samples, v["dataset_sample_index"].get<std::vector<i64>>());
    }
  }
}

TEST(Blend, choices_are_those_of_the_plain_rule) {
  std::mt19937_64 random(7);
  const auto uniform = [&] { return double(random() >> 11) / double(u64{1} << 53); };
  for (int n : {1, 2, 3, 7, 100, 300})
    for (int kind = 0; kind < 6; ++kind) {
      std::vector<double> weights;
      for (int d = 0; d < n; ++d)
        weights.push_back(kind == 0   ? 1.0            // all tied
                          : kind == 1 ? double(1 + d)  // with some ties
                          : kind == 2 ? uniform()
                          : kind == 3 ? std::exp(-40 * uniform())               // over seventeen decades
                          : kind == 4 ? (d % 3 == 0 ? 0.0 : double(1 + d % 4))  // some unused, the others in groups
                                      : (d == n / 2 ? 1.0 : 1e-9));             // one has almost all the weight
      if (n == 1) weights[0] = 1;
      const BlendPlan plan = plan_blend(normalize(normalize(weights, "w"), "w"), n < 100 ? 20000 : 4000);
      EXPECT_EQ(lists_of(plan).datasets, plain_rule(plan)) << n << " datasets of kind " << kind;
    }
  for (int n : {1, 2, 10, 150}) {
    std::vector<i64> sizes;
    for (int d = 0; d < n; ++d) sizes.push_back(i64(random() % (d % 2 ? 10 : 300)));
    sizes[0] = 1;
    const BlendPlan plan = plan_exhaustive_blend(sizes);
    EXPECT_EQ(lists_of(plan).datasets, plain_rule(plan)) << n << " datasets to their ends";
  }
}

TEST(Blend, parts_made_apart_are_those_made_in_a_row) {
  std::mt19937_64 random(11);
  for (int kind = 0; kind < 11; ++kind) {
    const bool many = kind == 10;  // too many for SIMD lanes
    std::vector<double> weights;
    for (int d = 0; d < (many ? 600 : 40); ++d)
      weights.push_back(kind >= 5   ? double(1 + random() % 3)  // many with the same weight, which take turns
                        : kind == 0 ? 1.0
                        : kind == 1 ? 1.0 / (1 + d)
                        : kind == 2 ? double(1 + random() % 1000)
                        : kind == 3 ? (d == 0 ? 1.0 : 1e-9)  // with rare datasets most guesses are wrong
                                    : (d % 2 ? 0.0 : std::pow(0.3, d)));
    const BlendPlan plan = plan_blend(normalize(weights, "w"), many ? 500001 : 2500001);
    const BlendIndex row(plan, [](const BlendedSample&) {});
    BlendBuilder builder(plan);
    EXPECT_GT(builder.parts(), many ? 3 : BlendLanes::kLanes);
    EXPECT_GT(builder.tasks(), 1);
    for (i64 task = builder.tasks(); task-- > 0;) builder.make(task);
    const BlendIndex apart = builder.finish();
    for (i64 k = 0; k <= plan.size; k += k + 1024 < plan.size ? 1024 : 1)
      ASSERT_EQ(row.taken_before(k), apart.taken_before(k)) << kind << " before " << k;
  }
  const std::vector<i64> sizes = {200000, 100, 70000};
  BlendBuilder limited(plan_exhaustive_blend(sizes));
  ASSERT_EQ(limited.parts(), 1);
  limited.make(0);
  EXPECT_EQ(limited.finish().taken_before(270100), sizes);
}

TEST(Blend, lanes_follow_the_rule_each_on_its_own) {
  for (const std::vector<double>& parts : {std::vector<double>{1, 1, 1}, {1, 5, 3, 2, 1, 1e-9}, {1}}) {
    const std::vector<double> weights = normalize(parts, "w");
    BlendLanes lanes(weights);
    std::vector<GreedyBlend> rules;
    for (int lane = 0; lane < BlendLanes::kLanes; ++lane) {
      const i64 before = lane < 2 ? lane : i64{1} << (lane + 8);
      std::vector<i64> taken;
      for (double w : weights) taken.push_back(i64(w * double(before)));
      rules.emplace_back(weights, std::vector<i64>(parts.size(), GreedyBlend::kNoLimit), before, taken);
      lanes.begin(lane, before, taken);
    }
    for (i64 choices : {1, 1, 2, 96, 2900}) {
      lanes.run(choices);
      for (int lane = 0; lane < BlendLanes::kLanes; ++lane) {
        GreedyBlend& rule = rules[std::size_t(lane)];
        rule.go_to(rule.sample() + choices);
        ASSERT_TRUE(std::ranges::equal(lanes.taken(lane), rule.taken())) << parts.size() << " in lane " << lane;
      }
    }
  }
}

TEST(Blend, choices_far_from_the_beginning_follow_the_rule) {
  const std::vector<double> weights = normalize(std::vector<double>{5, 3, 2, 1, 1, 1e-9}, "w");
  const std::vector<i64> limits(6, GreedyBlend::kNoLimit);
  const i64 far = i64{1} << 40;  // after this many choices
  std::vector<i64> taken;
  for (double w : weights) taken.push_back(i64(w * double(far)));
  GreedyBlend rule(weights, limits, far, taken);
  for (i64 k = far; k < far + 5000; ++k) {
    double greatest = -1e300;
    int best = 0;
    for (int d = 0; d < 6; ++d) {
      const volatile double due = weights[d] * double(k);
      if (due - double(taken[d]) > greatest) greatest = due - double(taken[d]), best = d;
    }
    ASSERT_EQ(rule.next(), best) << k;
    ++taken[best];
  }
}

TEST(Blend, counts_what_precedes_a_sample) {
  const BlendPlan plan = plan_blend(normalize(std::vector<double>{5, 3, 2, 1}, "w"), 5000);
  const BlendLists all = lists_of(plan);
  const BlendIndex index(plan, [](const BlendedSample&) {});
  std::vector<i64> counts(4);
  for (i64 k = 0; k <= 5000; ++k) {
    if (k % 97 == 0 || k > 4990) {
      EXPECT_EQ(index.taken_before(k), counts) << k;
    }
    if (k < 5000) ++counts[all.datasets[k]];
  }
  EXPECT_NE(error_of([&] { index.at(5000); }), "");
  EXPECT_NE(error_of([&] { index.at(-1); }), "");
  EXPECT_NE(error_of([&] { BlendIndex(plan_blend({}, 0), [](const BlendedSample&) {}); }), "");
  EXPECT_NE(error_of([&] { BlendIndex(plan_blend(std::vector<double>(32768, 1.0), 1), [](const BlendedSample&) {}); }),
            "");
}

TEST(Blend, files_that_no_rule_gives_are_refused) {
  const BlendPlan plan = plan_blend({0.5, 0.5}, 4);
  using Datasets = std::vector<std::int16_t>;
  using Samples = std::vector<i64>;
  EXPECT_TRUE(BlendIndex::from_files(plan, Datasets{1, 0, 0, 1}, Samples{0, 0, 1, 1}).has_value());
  EXPECT_FALSE(BlendIndex::from_files(plan, Datasets{1, 0, 0, 2}, Samples{0, 0, 1, 0}).has_value());
  EXPECT_FALSE(BlendIndex::from_files(plan, Datasets{1, 0, 0, -1}, Samples{0, 0, 1, 0}).has_value());
  EXPECT_FALSE(BlendIndex::from_files(plan, Datasets{1, 0, 0, 1}, Samples{0, 0, 2, 1}).has_value());
  const BlendPlan limited = plan_exhaustive_blend(std::vector<i64>{1, 3});
  EXPECT_FALSE(BlendIndex::from_files(limited, Datasets{1, 0, 0, 1}, Samples{0, 0, 1, 1}).has_value());
}

TEST(Blend, sizes_equal_megatron) {
  for (const std::string& file : golden_vectors("blending.json")) {
    SCOPED_TRACE(file);
    const Json vectors = read_json(file);
    for (const Json& v : vectors["sizes"]) {
      const std::vector<double> weights = normalize(v["weights"].get<std::vector<double>>(), "weights");
      for (std::size_t d = 0; d < weights.size(); ++d)
        for (int split = 0; split < 3; ++split) {
          EXPECT_EQ(blend_used(weights[d], v["target"][split]), v["used"][d][split].get<i64>());
          EXPECT_EQ(blend_built(weights[d], v["target"][split], 0.005), v["built"][d][split].get<i64>());
        }
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
  EXPECT_EQ(parse_blend({"1", "a", "2"}, "f").prefixes.size(), 3u);  // an odd number: prefixes, whatever they look like
  const Blend quoted = parse_blend({"0.7 a 0.3 b", "1", "c"}, "f");
  EXPECT_EQ(quoted.prefixes, (Strings{"a", "b", "c"}));
  EXPECT_EQ(quoted.weights, (std::vector<double>{0.7, 0.3, 1}));
  EXPECT_EQ(parse_blend({"a name with blanks"}, "f").prefixes, Strings{"a name with blanks"});
  EXPECT_EQ(parse_blend({"1", "a", "0", "b"}, "f").prefixes, Strings{"a"});
  EXPECT_EQ(parse_blend({"1", "a", "0", "b"}, "f").left_out, Strings{"b"});
  EXPECT_NE(error_of([] { parse_blend({"0.3", "a", "b", "c"}, "--data-path"); }).find("1 of 2"), std::string::npos);
  EXPECT_NE(error_of([] { parse_blend({" "}, "--data-path"); }), "");
  EXPECT_NE(error_of([] { normalize(std::vector<double>{1, -1}, "weights"); }), "");
  EXPECT_NE(error_of([] { normalize(std::vector<double>{0, 0}, "weights"); }), "");
}

}  // namespace megalith
