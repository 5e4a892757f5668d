#include <thread>

#include "data/npy.h"
#include "tests/data/small_data.h"

namespace megalith {

namespace {

bool equal(const Batch& a, const Batch& b) { return a == b; }

}  // namespace

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
  EXPECT_EQ(batch.longs("rows"), (std::vector<i64>{9, 10, 11}));
  for (i64 r = 0; r < 3; ++r) {
    const OwnedRow row = get_row(*sets.train, 9 + r);
    EXPECT_TRUE(std::equal(row.tokens.begin(), row.tokens.end(), batch.ints("tokens").begin() + 8 * r));
    EXPECT_TRUE(std::equal(row.labels.begin(), row.labels.end(), batch.ints("labels").begin() + 8 * r));
    EXPECT_TRUE(std::equal(row.loss_mask.begin(), row.loss_mask.end(), batch.floats("loss_mask").begin() + 8 * r));
    EXPECT_TRUE(
        std::equal(row.position_ids.begin(), row.position_ids.end(), batch.ints("position_ids").begin() + 8 * r));
    EXPECT_TRUE(std::equal(row.document_starts.begin(), row.document_starts.end(),
                           batch.ints("document_starts").begin() + 8 * r));
  }
}

TEST(DataLoader, the_last_batch_is_filled_with_what_does_not_count) {
  const TempDir dir;
  const Datasets sets = build_datasets(config_in(dir), {.train = 12});
  for (const i64 rank : {0, 1}) {
    DataLoader loader(sets.train,
                      {.micro_batch_size = 2, .data_parallel_rank = rank, .data_parallel_size = 2, .end = 7});
    i64 counted = 0;
    for (int i = 0; i < 2; ++i) {
      const Batch batch = loader.next();
      ASSERT_EQ(batch.sequences, 2);
      for (i64 r = 0; r < 2; ++r) {
        const std::vector<i32> tokens(batch.ints("tokens").begin() + 8 * r, batch.ints("tokens").begin() + 8 * (r + 1));
        const i64 sample = batch.longs("rows")[std::size_t(r)];
        EXPECT_EQ(tokens, sample < 7 ? get_row(*sets.train, sample).tokens : std::vector<i32>(8)) << sample;
        counted += std::count(batch.floats("loss_mask").begin() + 8 * r,
                              batch.floats("loss_mask").begin() + 8 * (r + 1), 1.0f);
      }
    }
    EXPECT_EQ(counted, 8 * (rank == 0 ? 4 : 3));
    EXPECT_TRUE(has(error_of([&] { loader.next(); }), "the dataset has 7 samples"));
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
      EXPECT_EQ(batch.longs("rows"), (std::vector<i64>{2 * i, 2 * i + 1}));
    }
  }
}

// A dataset whose reads take time.
class SlowDataset : public Dataset {
 public:
  explicit SlowDataset(std::chrono::milliseconds time) : time_(time) {}
  i64 size() const override { return 1000; }
  i64 seq_length() const override { return 4; }
  std::vector<SampleArray> arrays() const override { return decoder_arrays(4, false); }
  void get(i64 i, const SampleRow& row) const override {
    std::this_thread::sleep_for(time_);
    std::ranges::fill(row.ints("tokens"), i32(i));
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
      EXPECT_EQ(loader.next().ints("tokens")[0], i);  // in order, whichever thread read it
      std::this_thread::sleep_for(step);
    }
    return loader.seconds_waited();
  };
  EXPECT_GE(waited(0, 20ms, 0ms), 0.2);   // the whole time
  EXPECT_GE(waited(1, 20ms, 0ms), 0.19);  // one thread is not faster
  EXPECT_LT(waited(8, 20ms, 0ms), 0.15);  // two rounds of eight
  // A read takes half as long as a step: only the first batch is waited for.
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
  for (i64 i : order) EXPECT_EQ(train.next().ints("tokens"), get_row(*sets.train, i).tokens);
  DataLoader valid(sets.train, loader_config(config, Split::valid));
  for (i64 i : {0, 1}) EXPECT_EQ(valid.next().ints("tokens"), get_row(*sets.train, i).tokens);
}

TEST(DataLoader, errors_come_when_the_batch_is_asked_for) {
  const TempDir dir;
  const DataConfig config = config_in(dir);
  const Datasets sets = build_datasets(config, {.train = 5});
  ASSERT_EQ(sets.train->size(), 10);
  DataLoader loader(sets.train, {.micro_batch_size = 5});
  loader.next(), loader.next();
  EXPECT_TRUE(has(error_of([&] { loader.next(); }), "10 samples"));
  EXPECT_NE(error_of([&] { DataLoader(sets.valid, {}); }), "");
  DataConfig narrow = config;
  narrow.vocab_size = 300;
  const Datasets few = build_datasets(narrow, {.train = 5});
  DataLoader bad(few.train, {.micro_batch_size = 5});
  const std::string text = error_of([&] { bad.next(); });
  EXPECT_TRUE(has(text, dir / "a") && has(text, "vocabulary of 300") && has(text, "document")) << text;
}

}  // namespace megalith
