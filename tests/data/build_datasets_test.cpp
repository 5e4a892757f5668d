#include <sys/stat.h>

#include <map>

#include "data/blend_index.h"
#include "tests/data/small_data.h"

namespace megalith {

TEST(BuildDatasets, weighted_blend_equals_megatron) {
  for (const std::string& file : golden_vectors("gpt_blend_full.json")) {
    SCOPED_TRACE(file);
    const TempDir dir;
    const Json v = read_json(file)["weighted"];
    const std::vector<std::string> prefixes = write_blend_files(dir, v);
    DataConfig config{.split = "100,0,0", .seed = v["seed"], .seq_length = v["sequence_length"], .vocab_size = 5000};
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      config.data_path.push_back(fmt::format("{}", v["weights_in"][i].get<double>()));
      config.data_path.push_back(prefixes[i]);
    }
    const Datasets sets = build_datasets(config, {.train = v["requested"].get<i64>()});
    ASSERT_EQ(sets.train->size(), v["blended_size"].get<i64>());
    EXPECT_EQ(sets.valid, nullptr);
    for (std::size_t i = 0; i < v["first_tokens"].size(); ++i)
      EXPECT_EQ(get_row(*sets.train, i64(i)).tokens, v["first_tokens"][i].get<std::vector<i32>>()) << i;
    // Compares each sample with the two lists of the vector.
    for (i64 k = 0; k < sets.train->size(); ++k) {
      const std::size_t d = v["dataset_index"][k];
      const Json& part = v["parts"][d];
      DataConfig alone = config;
      alone.data_path = {prefixes[d]};
      const Datasets one = build_datasets(alone, {.train = part["num_samples"].get<i64>()});
      ASSERT_EQ(one.train->size(), part["length"].get<i64>());
      EXPECT_EQ(get_row(*sets.train, k).tokens, get_row(*one.train, v["dataset_sample_index"][k]).tokens);
    }
  }
}

// A run that resumes with more iterations asks for more samples.
TEST(BuildDatasets, know_for_which_numbers_of_samples_they_keep_their_order) {
  const TempDir dir;
  const DataConfig one = config_in(dir);
  write_rule_files(dir / "b", {30, 2, 17, 40, 9, 9, 25});
  DataConfig weighted = one, unweighted = one;
  weighted.data_path = {"0.3", dir / "a", "0.7", dir / "b"}, unweighted.data_path = {dir / "a", dir / "b"};
  for (const DataConfig& config : {one, weighted, unweighted}) {
    constexpr i64 kMost = 45;
    std::vector<std::shared_ptr<const Dataset>> sets(1);
    for (i64 n = 1; n <= kMost; ++n) sets.push_back(build_datasets(config, {.train = n}).train);
    int kept = 0;
    for (i64 a = 1; a <= kMost; ++a)
      for (i64 b = 1; b < a; ++b) {
        ASSERT_EQ(sets[a]->keeps_order(b), sets[b]->keeps_order(a));
        bool same = true;
        for (i64 i = 0; i < std::min(sets[a]->size(), sets[b]->size()); ++i)
          same = same && get_row(*sets[a], i).tokens == get_row(*sets[b], i).tokens;
        if (!sets[a]->keeps_order(b)) continue;
        ++kept;
        EXPECT_TRUE(same) << a << " " << b;
      }
    EXPECT_TRUE(sets[8]->keeps_order(5));
    EXPECT_EQ(sets[40]->keeps_order(5), config.data_path == unweighted.data_path);
    EXPECT_GT(kept, kMost);
  }
}

TEST(BuildDatasets, unweighted_blend_equals_megatron) {
  for (const std::string& file : golden_vectors("gpt_blend_full.json")) {
    SCOPED_TRACE(file);
    const TempDir dir;
    const Json all = read_json(file), v = all["unweighted"];
    const std::vector<std::string> prefixes = write_blend_files(dir, all["weighted"]);
    const DataConfig config{.data_path = prefixes, .split = "100,0,0", .seq_length = 8, .vocab_size = 5000};
    const Datasets sets = build_datasets(config, {.train = 20});
    ASSERT_EQ(sets.train->size(), v["blended_size"].get<i64>());
    for (i64 k = 0; k < sets.train->size(); ++k) {
      const std::size_t d = v["dataset_index"][k];
      DataConfig alone = config;
      alone.data_path = {prefixes[d]};
      const Datasets one = build_datasets(alone, {.train = std::nullopt});
      ASSERT_EQ(one.train->size(), v["parts"][d]["length"].get<i64>());
      EXPECT_EQ(get_row(*sets.train, k).tokens, get_row(*one.train, v["dataset_sample_index"][k]).tokens);
    }
    EXPECT_EQ(build_datasets(config, {.train = std::nullopt}).train->size(), 26);  // all three, one epoch
    EXPECT_EQ(build_datasets(config, {.train = 1000}).train->size(), 26);          // no more than exist
  }
}

TEST(BuildDatasets, own_files_per_split) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  write_rule_files(dir / "b", {30, 2});
  config.split.clear();
  config.data_path.clear();
  config.train_data_path = {"0.5", dir / "a"};  // a single dataset is not a blend
  config.valid_data_path = {dir / "a", dir / "b", dir / "b"};
  const Datasets sets = build_datasets(config, {.train = 12, .valid = 4, .test = 4});
  EXPECT_EQ(sets.train->size(), 21);
  EXPECT_EQ(sets.valid->size(), 4);
  EXPECT_EQ(sets.test, nullptr);
  config.split = "1,1,1";
  EXPECT_TRUE(has(error_of([&] { build_datasets(config, {.train = 1}); }), "--split"));
}

TEST(BuildDatasets, a_blend_holds_the_sum_of_its_parts) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.data_path = {"1", dir / "a", "1", dir / "a", "1", dir / "a"};
  EXPECT_EQ(build_datasets(config, {.train = 10}).train->size(), 12);  // 4 of each, rounded up
}

TEST(BuildDatasets, a_weight_of_zero_reads_nothing) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  write_rule_files(dir / "b", {30, 2});
  const Datasets alone = build_datasets(config, {.train = 11});  // ten and the surplus
  config.data_path = {"1", dir / "a", "0", dir / "b"};
  const Datasets sets = build_datasets(config, {.train = 10});
  ASSERT_EQ(sets.train->size(), 10);
  for (i64 k = 0; k < 10; ++k) EXPECT_EQ(get_row(*sets.train, k).tokens, get_row(*alone.train, k).tokens);
  // As the first of the list it would win the tie at sample 1, although it has no samples.
  config.data_path = {"0", dir / "b", "1", dir / "a"};
  const Datasets turned = build_datasets(config, {.train = 10});
  for (i64 k = 0; k < 10; ++k) EXPECT_EQ(get_row(*turned.train, k).tokens, get_row(*alone.train, k).tokens);
  config.data_path = {"0", dir / "b"};
  EXPECT_TRUE(has(error_of([&] { build_datasets(config, {.train = 10}); }), "weight 0"));
}

TEST(BuildDatasets, a_split_without_documents_is_left_out) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.split = "969, 30, 1";  // of 12 documents: 12, 0, 0
  const Datasets sets = build_datasets(config, {.train = 4, .valid = 4, .test = 4});
  EXPECT_EQ(sets.train->size(), 10);
  EXPECT_EQ(sets.valid, nullptr);
  EXPECT_EQ(sets.test, nullptr);
  config.split = "1, 99, 0";
  EXPECT_TRUE(has(error_of([&] { build_datasets(config, {.train = 4}); }), "gives to the train set"));
  // Only the datasets of a blend that have documents in the split.
  write_rule_files(dir / "b", std::vector<i64>(200, 9));
  config.split = "969, 30, 1";
  config.data_path = {"0.5", dir / "a", "0.5", dir / "b"};
  const Datasets blend = build_datasets(config, {.train = 4, .valid = 4, .test = 4});
  EXPECT_EQ(blend.valid->use(4), (std::vector<DatasetUse>{{dir / "b", 4, 4 * 8 / 54.0}}));
  EXPECT_EQ(blend.test, nullptr);
}

TEST(BuildDatasets, mock_data_of_any_number_of_samples) {
  const DataConfig config{.mock_data = true, .seq_length = 64, .vocab_size = 100, .eod = 99};
  const i64 many = i64{1} << 40;
  const Datasets sets = build_datasets(config, {.train = many});
  ASSERT_EQ(sets.train->size(), many);
  get_row(*sets.train, many - 1);
  EXPECT_EQ(sets.train->use(many)[0].samples, many);
}

TEST(BuildDatasets, mock_data) {
  const DataConfig config{.mock_data = true, .seq_length = 64, .vocab_size = 100, .eod = 99};
  const Datasets sets = build_datasets(config, {.train = 10, .valid = 5, .test = 5});
  DataLoader loader(sets.valid, {.micro_batch_size = 2});
  const Batch batch = loader.next();
  EXPECT_EQ(batch.ints("tokens").size(), 128u);
  for (std::size_t t = 0; t < 63; ++t) {
    EXPECT_EQ(batch.ints("labels")[t], batch.ints("tokens")[t + 1]);
    if (batch.ints("tokens")[t] != 99 && batch.ints("labels")[t] != 99) {
      EXPECT_EQ(batch.ints("labels")[t], batch.ints("tokens")[t] + 1);
    }
  }
}

TEST(BuildDatasets, mistakes_are_named) {
  const TempDir dir;
  const DataConfig good = config_in(dir);
  const auto message = [&](auto change, SampleCounts counts = {.train = 10}) {
    DataConfig c = good;
    change(c);
    return error_of([&] { build_datasets(c, counts); });
  };
  EXPECT_TRUE(has(message([](DataConfig& c) { c.data_path.clear(); }), "--data-path PREFIX"));
  EXPECT_TRUE(has(message([](DataConfig& c) { c.mock_data = true; }), "together"));
  EXPECT_TRUE(has(message([](DataConfig& c) { c.data_path = {"/no/such"}; }), "/no/such.idx"));
  EXPECT_TRUE(has(message([](DataConfig& c) { c.seq_length = 0; }), "--seq-length"));
  EXPECT_TRUE(has(message([](DataConfig& c) { c.seed = -1; }), "--seed"));
  EXPECT_TRUE(has(message([](DataConfig& c) { c.split = "x"; }), "--split"));
  EXPECT_TRUE(has(message(
                      [](DataConfig& c) {
                        c.data_path = {"1", c.data_path[0], "2", c.data_path[0]};
                      },
                      {.train = std::nullopt}),
                  "weights"));
}

TEST(SampleCounts, follow_megatron) {
  const SampleCounts counts =
      sample_counts({.train_iters = 100, .global_batch_size = 8, .eval_interval = 30, .eval_iters = 5});
  EXPECT_EQ(counts.train, 800);
  EXPECT_EQ(counts.valid, 4 * 5 * 8);
  EXPECT_EQ(counts.test, 40);
  EXPECT_EQ(sample_counts({.train_samples = 77, .eval_iters = 1}).train, 77);
  EXPECT_EQ(sample_counts({.train_iters = 100,
                           .eval_interval = 10,
                           .eval_iters = 2,
                           .eval_global_batch_size = 3,
                           .start_eval_at_iter = 25})
                .valid,
            (11 - 2) * 2 * 3);
  EXPECT_EQ(sample_counts({.train_iters = 10, .eval_interval = 10, .eval_iters = 2, .start_eval_at_iter = 500}).valid,
            0);
  EXPECT_EQ(sample_counts({.train_iters = 100, .eval_interval = 10, .eval_iters = 2, .skip_train = true}).valid, 2);
  EXPECT_FALSE(sample_counts({.full_validation = true}).valid.has_value());
  EXPECT_NE(error_of([] { sample_counts({.eval_interval = 0}); }), "");
}

TEST(Dataset, tells_how_far_its_files_are_read) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  write_rule_files(dir / "b", {30, 50});
  config.data_path = {"1", dir / "a", "3", dir / "b"};
  const Datasets sets = build_datasets(config, {.train = 40});
  std::map<std::string, i64> counts;
  BlendIndex(plan_blend({0.25, 0.75}, 40), [&](const BlendedSample& s) {
    const std::vector<DatasetUse> use = sets.train->use(counts[dir / "a"] + counts[dir / "b"]);
    EXPECT_EQ(use, (std::vector<DatasetUse>{{dir / "a", counts[dir / "a"], double(counts[dir / "a"]) * 8 / 88},
                                            {dir / "b", counts[dir / "b"], double(counts[dir / "b"]) * 8 / 80}}));
    ++counts[s.dataset == 0 ? dir / "a" : dir / "b"];
  });
  EXPECT_EQ(counts[dir / "b"], 30);
}

TEST(DataPaths, are_read_from_files) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  write_rule_files(dir / "b", {30, 2, 9});
  const auto rows = [](const DataConfig& c, bool valid) {
    const Datasets sets = build_datasets(c, {.train = 12, .valid = 4});
    std::vector<std::vector<i32>> all;
    const auto& set = valid ? sets.valid : sets.train;
    for (i64 i = 0; set && i < set->size(); ++i) all.push_back(get_row(*set, i).tokens);
    return all;
  };
  const auto write = [&](const std::string& text) { std::ofstream(dir / "args") << text; };
  config.data_path = {"0.25", dir / "a", "0.75", dir / "b"};
  const auto blended = rows(config, false);
  DataConfig from_file = config;
  from_file.data_path.clear(), from_file.data_args_path = dir / "args";
  write(fmt::format("0.25 {}\n 0.75\t{}\n\n", dir / "a", dir / "b"));
  EXPECT_EQ(rows(from_file, false), blended);

  DataConfig own = config, own_file = config;
  own.split = own_file.split = "";
  own.data_path.clear(), own_file.data_path.clear();
  own.train_data_path = {"0.25", dir / "a", "0.75", dir / "b"}, own.valid_data_path = {dir / "b"};
  own_file.per_split_data_args_path = dir / "args";
  write(
      fmt::format(R"({{"train": ["0.25", "{0}", 0.75, "{1}"], "valid": "{1}", "test": null}})", dir / "a", dir / "b"));
  EXPECT_EQ(rows(own_file, false), rows(own, false));
  EXPECT_EQ(rows(own_file, true), rows(own, true));
  EXPECT_FALSE(rows(own_file, true).empty());

  for (const char* bad : {"", "[]", "{}", R"({"train": 3})", R"({"train": [[]]})", R"({"training": "a"})", "{"}) {
    write(bad);
    EXPECT_TRUE(has(error_of([&] { rows(own_file, false); }), "--per-split-data-args-path " + (dir / "args"))) << bad;
  }
  write(" \n");
  EXPECT_TRUE(has(error_of([&] { rows(from_file, false); }), "names no datasets"));
  from_file.data_args_path = dir / "none";
  EXPECT_TRUE(has(error_of([&] { rows(from_file, false); }), "none"));
  from_file.data_args_path = dir.path();
  EXPECT_TRUE(has(error_of([&] { rows(from_file, false); }), "--data-args-path"));
  from_file.data_args_path = dir / "pipe";
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(has(error_of([&] { rows(from_file, false); }), "pipe: it is not a regular file"));
  from_file.data_path = {dir / "a"};
  EXPECT_TRUE(has(error_of([&] { rows(from_file, false); }), "give one of them"));
}

// Weights over many decades, and sizes with large rounding: every requested sample exists.
TEST(BuildDatasets, extreme_weights_and_sizes_stay_in_bounds) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  write_rule_files(dir / "b", {30, 2});
  const auto read_all = [&](std::vector<std::string> weights, i64 samples, double surplus) {
    config.data_path.clear();
    for (std::size_t d = 0; d < weights.size(); ++d) {
      config.data_path.push_back(weights[d]);
      config.data_path.push_back(dir / (d % 2 ? "b" : "a"));
    }
    config.mid_level_dataset_surplus = surplus;
    try {
      const Datasets sets = build_datasets(config, {.train = samples});
      EXPECT_GE(sets.train->size(), samples);
      for (i64 i = 0; i < sets.train->size(); ++i) get_row(*sets.train, i);
    } catch (const Error& e) {  // the blending rule may need more samples than the size rule gives
      EXPECT_TRUE(has(e.what(), "change its weight")) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  };
  for (i64 samples : {1, 2, 7, 8, 100, 101})
    for (double surplus : {0.0, 0.005}) {
      read_all({"1e-9", "0.999999999"}, samples, surplus);
      read_all({"0.999999999", "1e-9"}, samples, surplus);
      read_all({"0", "1", "0"}, samples, surplus);
      read_all({"1e-300", "1", "1e300"}, samples, surplus);
      read_all({"1", "1", "1", "1", "1", "1", "1"}, samples, surplus);
      read_all({"0.1", "0.2", "0.7", "1e-12"}, samples, surplus);
    }
}

}  // namespace megalith
