#include "data/loader.h"

#include <cstring>
#include <map>
#include <thread>

#include "data/blend_index.h"
#include "data/npy.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<i64> kLengths = {5, 9, 3, 12, 1, 7, 20, 4, 6, 2, 11, 8};

// A config of one prefix with the documents of kLengths.
DataConfig config_in(const TempDir& dir) {
  write_rule_files(dir / "a", kLengths);
  return {.data_path = {dir / "a"}, .split = "100,0,0", .seq_length = 8, .vocab_size = 5000, .eod = 4999};
}

bool equal(const Batch& a, const Batch& b) {
  return a.tokens == b.tokens && a.labels == b.labels && a.loss_mask == b.loss_mask &&
         a.position_ids == b.position_ids && a.sample_numbers == b.sample_numbers &&
         a.document_starts == b.document_starts;
}

// The elements of a .npy file, whose header must be that of `array`.
template <class T>
std::vector<T> array_in(const std::string& path, const NpyArray& array) {
  const std::vector<u8> bytes = read_bytes(path);
  const std::string header = npy_header(array);
  EXPECT_TRUE(bytes.size() > header.size() && std::equal(header.begin(), header.end(), (const char*)bytes.data()))
      << path;
  std::vector<T> values((bytes.size() - std::min(bytes.size(), header.size())) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data() + header.size(), values.size() * sizeof(T));
  return values;
}

// Dataset sizes and the first tokens of a blend of the three datasets of gpt_blend_full.json.
std::vector<std::string> write_blend_files(const TempDir& dir, const Json& v) {
  std::vector<std::string> prefixes;
  for (const Json& name : v["blend"]) {
    prefixes.push_back(dir / name.get<std::string>());
    write_rule_files(prefixes.back(), v["documents"][name.get<std::string>()].get<std::vector<i64>>());
  }
  return prefixes;
}

}  // namespace

TEST(BuildDatasets, weighted_blend_equals_megatron) {
  NEED_VECTOR("gpt_blend_full.json");
  const TempDir dir;
  const Json v = read_vector("gpt_blend_full.json")["weighted"];
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
  // Every sample is the one that the vector's two lists name.
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

TEST(BuildDatasets, unweighted_blend_equals_megatron) {
  NEED_VECTOR("gpt_blend_full.json");
  const TempDir dir;
  const Json all = read_vector("gpt_blend_full.json"), v = all["unweighted"];
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
  EXPECT_EQ(build_datasets(config, {.train = 1000}).train->size(), 26);          // never more than there is
}

TEST(BuildDatasets, own_files_per_split) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  write_rule_files(dir / "b", {30, 2});
  config.split.clear();
  config.data_path.clear();
  config.train_data_path = {"0.5", dir / "a"};  // one dataset is never a blend
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
  // As the first of the list it wins the tie at sample 1, in Megatron too.
  std::vector<int> first;
  BlendIndex(plan_blend({0, 1}, 4), [&](const BlendedSample& s) { first.push_back(s.dataset); });
  EXPECT_EQ(first, (std::vector<int>{1, 0, 1, 1}));
}

TEST(BuildDatasets, mock_data) {
  const DataConfig config{.mock_data = true, .seq_length = 64, .vocab_size = 100, .eod = 99};
  const Datasets sets = build_datasets(config, {.train = 10, .valid = 5, .test = 5});
  DataLoader loader(sets.valid, {.micro_batch_size = 2});
  const Batch batch = loader.next();
  EXPECT_EQ(batch.tokens.size(), 128u);
  for (std::size_t t = 0; t < 63; ++t) {
    EXPECT_EQ(batch.labels[t], batch.tokens[t + 1]);
    if (batch.tokens[t] != 99 && batch.labels[t] != 99) {
      EXPECT_EQ(batch.labels[t], batch.tokens[t] + 1);
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
  EXPECT_TRUE(has(message([](DataConfig& c) { c.split.clear(); }, {.train = 1, .valid = 1}), "valid"));
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
  error_of([] { sample_counts({.eval_interval = 0}); });
}

TEST(DataLoader, rows_are_the_samples_of_the_dataset) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.reset_position_ids = config.reset_attention_mask = config.eod_mask_loss = true;
  const Datasets sets = build_datasets(config, {.train = 12});
  DataLoader loader(sets.train,
                    {.consumed_samples = 6, .micro_batch_size = 3, .data_parallel_rank = 1, .data_parallel_size = 2});
  const Batch batch = loader.next();
  EXPECT_EQ(loader.consumed_samples(), 12);
  EXPECT_EQ(batch.sequences, 3);
  EXPECT_EQ(batch.seq_length, 8);
  EXPECT_EQ(batch.sample_numbers, (std::vector<i64>{9, 10, 11}));
  for (i64 r = 0; r < 3; ++r) {
    const OwnedRow row = get_row(*sets.train, 9 + r);
    EXPECT_TRUE(std::equal(row.tokens.begin(), row.tokens.end(), batch.tokens.begin() + 8 * r));
    EXPECT_TRUE(std::equal(row.labels.begin(), row.labels.end(), batch.labels.begin() + 8 * r));
    EXPECT_TRUE(std::equal(row.loss_mask.begin(), row.loss_mask.end(), batch.loss_mask.begin() + 8 * r));
    EXPECT_TRUE(std::equal(row.position_ids.begin(), row.position_ids.end(), batch.position_ids.begin() + 8 * r));
    EXPECT_TRUE(
        std::equal(row.document_starts.begin(), row.document_starts.end(), batch.document_starts.begin() + 8 * r));
  }
}

TEST(DataLoader, reading_ahead_changes_nothing_and_resumes) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  const Datasets sets = build_datasets(config, {.train = 40});
  for (SamplerType type : {SamplerType::single, SamplerType::cyclic}) {
    DataLoader ahead(sets.train, {.type = type, .micro_batch_size = 2, .num_workers = 3});
    DataLoader plain(sets.train, {.type = type, .micro_batch_size = 2, .num_workers = 0});
    for (int i = 0; i < 20; ++i) {
      DataLoader resumed(sets.train,
                         {.type = type, .consumed_samples = ahead.consumed_samples(), .micro_batch_size = 2});
      const Batch batch = ahead.next();
      EXPECT_TRUE(equal(batch, plain.next()));
      EXPECT_TRUE(equal(batch, resumed.next()));
      EXPECT_EQ(batch.sample_numbers, (std::vector<i64>{2 * i, 2 * i + 1}));
    }
  }
}

// A dataset that takes its time.
class SlowDataset : public Dataset {
 public:
  explicit SlowDataset(std::chrono::milliseconds time) : time_(time) {}
  i64 size() const override { return 1000; }
  i64 seq_length() const override { return 4; }
  bool has_document_starts() const override { return false; }
  void get(i64 i, const SampleRow& row) const override {
    std::this_thread::sleep_for(time_);
    std::ranges::fill(row.tokens, i32(i));
  }
  std::vector<DatasetUse> use(i64) const override { return {}; }

 private:
  std::chrono::milliseconds time_;
};

TEST(DataLoader, measures_the_wait_for_a_slow_source_and_workers_shorten_it) {
  using namespace std::chrono_literals;
  const auto waited = [](i64 workers, std::chrono::milliseconds read, std::chrono::milliseconds step) {
    DataLoader loader(std::make_shared<SlowDataset>(read), {.num_workers = workers});
    for (i32 i = 0; i < 10; ++i) {
      EXPECT_EQ(loader.next().tokens[0], i);  // in order, whoever read it
      std::this_thread::sleep_for(step);
    }
    return loader.seconds_waited();
  };
  EXPECT_GE(waited(0, 20ms, 0ms), 0.2);   // all of it
  EXPECT_GE(waited(1, 20ms, 0ms), 0.19);  // one thread is no faster
  EXPECT_LT(waited(8, 20ms, 0ms), 0.15);  // two rounds of eight
  // Half as long as a step: only the first batch is waited for.
  EXPECT_LT(waited(1, 20ms, 40ms), 0.1);
}

TEST(DataLoader, ends_while_its_workers_read) {
  for (i64 workers : {1, 4}) {
    DataLoader loader(std::make_shared<SlowDataset>(std::chrono::milliseconds(1)), {.num_workers = workers});
    loader.next();
  }
}

TEST(DataLoader, an_order_from_outside_is_that_of_the_training_set) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  const Datasets sets = build_datasets(config, {.train = 12});
  const std::vector<i64> order = {20, 0, 3, 3};
  save_npy(dir / "order.npy", {"<i8", 4, 0}, std::span(order));
  config.dataloader_type = SamplerType::external, config.data_order_file = dir / "order.npy";
  DataLoader train(sets.train, loader_config(config, Split::train));
  for (i64 i : order) EXPECT_EQ(train.next().tokens, get_row(*sets.train, i).tokens);
  DataLoader valid(sets.train, loader_config(config, Split::valid));
  for (i64 i : {0, 1}) EXPECT_EQ(valid.next().tokens, get_row(*sets.train, i).tokens);
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
  from_file.data_path = {dir / "a"};
  EXPECT_TRUE(has(error_of([&] { rows(from_file, false); }), "give one of them"));
}

// Weights over all decades, and sizes that round badly: whatever is asked for is there.
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
    } catch (const Error& e) {  // the rule may ask for more than the rule of sizes gives
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

TEST(DataLoader, errors_come_when_the_batch_is_asked_for) {
  const TempDir dir;
  const DataConfig config = config_in(dir);
  const Datasets sets = build_datasets(config, {.train = 5});
  ASSERT_EQ(sets.train->size(), 10);
  DataLoader loader(sets.train, {.micro_batch_size = 5});
  loader.next(), loader.next();
  EXPECT_TRUE(has(error_of([&] { loader.next(); }), "10 samples"));
  error_of([&] { DataLoader(sets.valid, {}); });
  DataConfig narrow = config;
  narrow.vocab_size = 300;
  const Datasets few = build_datasets(narrow, {.train = 5});
  DataLoader bad(few.train, {.micro_batch_size = 5});
  const std::string text = error_of([&] { bad.next(); });
  EXPECT_TRUE(has(text, dir / "a") && has(text, "vocabulary of 300") && has(text, "document")) << text;
}

TEST(IndexCache, is_written_with_megatrons_names_and_read_again) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.data_cache_path = dir / "cache/deep";
  const Datasets built = build_datasets(config, {.train = 12});
  std::string shuffle;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config.data_cache_path)) {
    ++files;
    const std::string name = entry.path().filename();
    EXPECT_TRUE(has(name, "-GPTDataset-train-")) << name;
    if (has(name, "shuffle_index.npy")) shuffle = entry.path();
  }
  EXPECT_EQ(files, 4);
  const std::vector<u8> bytes = read_bytes(shuffle);
  ASSERT_EQ(bytes.size(), 128u + 4 * 21);
  EXPECT_EQ(std::string(bytes.begin() + 10, bytes.begin() + 68),
            "{'descr': '<u4', 'fortran_order': False, 'shape': (21,), }");
  // A change of the file shows that it is what the next run reads.
  const auto second = get_row(*built.train, 1).tokens, sixth = get_row(*built.train, 5).tokens;
  std::vector<u8> changed = bytes;
  std::swap_ranges(changed.begin() + 128, changed.begin() + 132, changed.begin() + 132);
  write_bytes(shuffle, changed);
  const Datasets loaded = build_datasets(config, {.train = 12});
  EXPECT_EQ(get_row(*loaded.train, 0).tokens, second);
  EXPECT_EQ(get_row(*loaded.train, 5).tokens, sixth);
}

// All files of a cache are those of the vector: names, bytes of the description, arrays.
TEST(IndexCache, of_a_blend_equals_megatrons_byte_for_byte) {
  NEED_VECTOR("gpt_blend_full.json");
  const TempDir dir;
  const Json all = read_vector("gpt_blend_full.json");
  const auto previous = std::filesystem::current_path();
  write_blend_files(dir, all["weighted"]);
  std::filesystem::current_path(dir.path());  // the prefixes are in the names
  for (const char* kind : {"weighted", "unweighted"}) {
    const Json& v = all[kind];
    DataConfig config{.split = "100,0,0",
                      .seed = 1234,
                      .seq_length = 8,
                      .vocab_size = 5000,
                      .data_cache_path = dir / kind,
                      .tokenizer_arguments = {{"vocab_size", "5000"}}};
    for (std::size_t d = 0; d < 3; ++d) {
      if (!v["weights_in"].is_null()) config.data_path.push_back(fmt::format("{}", v["weights_in"][d].get<double>()));
      config.data_path.push_back(all["weighted"]["blend"][d]);
    }
    for (int run = 0; run < 2; ++run) {  // the second one reads what the first wrote
      const Datasets sets = build_datasets(config, {.train = 20});
      ASSERT_EQ(sets.train->size(), 20);
      for (std::size_t i = 0; i < all["weighted"]["first_tokens"].size() && kind == std::string("weighted"); ++i)
        EXPECT_EQ(get_row(*sets.train, i64(i)).tokens, v["first_tokens"][i].get<std::vector<i32>>()) << i;
    }
    const std::string stem = fmt::format("{}/{}-BlendedDataset-train-", dir / kind, v["hash"].get<std::string>());
    EXPECT_EQ(array_in<std::int16_t>(stem + "dataset_index.npy", {"<i2", 20, 0}),
              v["dataset_index"].get<std::vector<std::int16_t>>());
    EXPECT_EQ(array_in<i64>(stem + "dataset_sample_index.npy", {"<i8", 20, 0}),
              v["dataset_sample_index"].get<std::vector<i64>>());
    const std::vector<u8> text = read_bytes(stem + "description.txt");
    if (v.contains("unique_description")) {
      EXPECT_EQ(std::string(text.begin(), text.end()), v["unique_description"].get<std::string>());
    }
    for (const Json& part : v["parts"]) {
      const std::string name = fmt::format("{}/{}-GPTDataset-train-", dir / kind, part["hash"].get<std::string>());
      EXPECT_TRUE(std::filesystem::exists(name + "description.txt")) << name;
      if (!part.contains("document_index")) continue;
      const auto documents = part["document_index"].get<std::vector<i32>>();
      EXPECT_EQ(array_in<i32>(name + "document_index.npy", {"<i4", i64(documents.size()), 0}), documents);
      const auto shuffle = part["shuffle_index"].get<std::vector<u32>>();
      EXPECT_EQ(array_in<u32>(name + "shuffle_index.npy", {"<u4", i64(shuffle.size()), 0}), shuffle);
      std::vector<i32> cuts;
      for (const Json& cut : part["sample_index"]) cuts.push_back(cut[0]), cuts.push_back(cut[1]);
      EXPECT_EQ(array_in<i32>(name + "sample_index.npy", {"<i4", i64(cuts.size() / 2), 2}), cuts);
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / kind), {}), 3 + 3 * 4);
  }
  std::filesystem::current_path(previous);
}

TEST(IndexCache, several_builders_at_once_do_no_harm) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.data_cache_path = dir / "cache";
  config.data_path = {"1", dir / "a", "2", dir / "a", "1", dir / "a"};  // also the same index twice in one of them
  const Datasets plain = build_datasets(config, {.train = 12});
  std::filesystem::remove_all(config.data_cache_path);
  std::vector<std::thread> builders;
  std::array<Datasets, 6> sets;
  for (Datasets& mine : sets) builders.emplace_back([&] { mine = build_datasets(config, {.train = 12}); });
  for (std::thread& b : builders) b.join();
  for (const Datasets& mine : sets)
    for (i64 i = 0; i < plain.train->size(); ++i)
      EXPECT_EQ(get_row(*mine.train, i).tokens, get_row(*plain.train, i).tokens);
  for (const auto& entry : std::filesystem::directory_iterator(config.data_cache_path))
    EXPECT_FALSE(has(entry.path().filename(), "partial")) << entry.path();
}

TEST(IndexCache, damaged_and_stale_files_are_built_again) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  const Datasets plain = build_datasets(config, {.train = 12});
  config.data_cache_path = dir / "cache";
  build_datasets(config, {.train = 12});
  const auto same = [&] {
    const Datasets sets = build_datasets(config, {.train = 12});
    for (i64 i = 0; i < 21; ++i) EXPECT_EQ(get_row(*sets.train, i).tokens, get_row(*plain.train, i).tokens);
  };
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(config.data_cache_path))
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  for (const std::string& file : files) {
    const std::vector<u8> whole = read_bytes(file);
    for (std::size_t n : {std::size_t{0}, std::size_t{5}, std::size_t{100}, whole.size() - 1}) {
      write_bytes(file, std::vector<u8>(whole.begin(), whole.begin() + n));
      same();
    }
    std::vector<u8> wild = whole;
    std::fill(wild.begin() + 128, wild.end(), 0xfe);
    write_bytes(file, wild);
    same();
    EXPECT_EQ(read_bytes(file), whole);
  }
  // Other data under the same name, for which the index could be right by its numbers: but it is older than they are.
  for (const std::string& file : files)
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - std::chrono::hours(1));
  std::vector<i64> moved = kLengths;
  ++moved[0], --moved[1];
  write_rule_files(dir / "a", moved);
  const Datasets fresh = build_datasets(config, {.train = 12});
  config.data_cache_path.clear();
  const Datasets expected = build_datasets(config, {.train = 12});
  for (i64 i = 0; i < 21; ++i) EXPECT_EQ(get_row(*fresh.train, i).tokens, get_row(*expected.train, i).tokens);
}

TEST(IndexCache, one_that_cannot_be_written_is_no_obstacle) {
  const TempDir dir;
  DataConfig config = config_in(dir);
  config.data_cache_path = dir / "a.idx/cache";  // below a file
  EXPECT_EQ(build_datasets(config, {.train = 12}).train->size(), 21);
}

TEST(Npy, header_is_a_multiple_of_64) {
  for (i64 rows : {0, 1, 99999999})
    for (i64 columns : {0, 2}) EXPECT_EQ(npy_header({"<i4", rows, columns}).size() % 64, 0u);
  EXPECT_EQ(npy_header({"<i4", 24, 0}).substr(10, 58), "{'descr': '<i4', 'fortran_order': False, 'shape': (24,), }");
}

}  // namespace megalith
