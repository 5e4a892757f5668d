#include "data/samplers.h"

#include <algorithm>
#include <set>

#include "data/npy.h"
#include "data/torch_randperm.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

using Indices = std::vector<i64>;

std::vector<Indices> take(const SamplerConfig& config, int batches) {
  const auto sampler = make_sampler(config);
  std::vector<Indices> result;
  for (int i = 0; i < batches; ++i) result.push_back(sampler->next());
  return result;
}

}  // namespace

TEST(SingleSampler, ranks_take_slices_of_each_chunk) {
  const SamplerConfig config{
      .total_samples = 20, .consumed_samples = 4, .micro_batch_size = 2, .data_parallel_size = 3};
  SamplerConfig one = config;
  one.data_parallel_rank = 1;
  EXPECT_EQ(take(config, 2), (std::vector<Indices>{{4, 5}, {10, 11}}));
  EXPECT_EQ(take(one, 2), (std::vector<Indices>{{6, 7}, {12, 13}}));
  const auto sampler = make_sampler(config);
  sampler->next(), sampler->next();
  EXPECT_EQ(sampler->consumed_samples(), 16);
  EXPECT_NE(error_of([&] { sampler->next(); }).find("20 samples, 16 are consumed"), std::string::npos);
}

TEST(CyclicSampler, sharded_follows_the_formula) {
  SamplerConfig config{
      .type = SamplerType::cyclic, .total_samples = 23, .micro_batch_size = 2, .data_parallel_size = 3};
  const i64 bucket = 23 / 6 * 2;  // 6 samples per rank, 3 batches per epoch
  for (i64 rank = 0; rank < 3; ++rank) {
    config.data_parallel_rank = rank;
    const std::vector<Indices> got = take(config, 7);
    for (int batch = 0; batch < 7; ++batch) {
      const Indices perm = torch_randperm(bucket, batch / 3);
      for (int row = 0; row < 2; ++row) EXPECT_EQ(got[batch][row], rank * bucket + perm[batch % 3 * 2 + row]);
    }
  }
}

TEST(CyclicSampler, unsharded_deals_one_permutation_to_the_ranks) {
  SamplerConfig config{.type = SamplerType::cyclic,
                       .total_samples = 23,
                       .micro_batch_size = 2,
                       .data_parallel_size = 3,
                       .data_sharding = false};
  for (i64 rank = 0; rank < 3; ++rank) {
    config.data_parallel_rank = rank;
    const std::vector<Indices> got = take(config, 7);
    for (int batch = 0; batch < 7; ++batch) {
      const Indices perm = torch_randperm(22, batch / 3);
      for (int row = 0; row < 2; ++row) EXPECT_EQ(got[batch][row], perm[batch % 3 * 6 + row * 3 + rank]);
    }
  }
}

TEST(ExternalSampler, takes_the_numbers_of_the_file) {
  const TempDir dir;
  const std::vector<i64> order = {9, 3, 3, 0, 7, 2, 5, 1};
  const std::string file = dir / "order.npy";
  save_npy(file, {"<i8", 8, 0}, std::span(order));
  SamplerConfig config{.type = SamplerType::external,
                       .total_samples = 10,
                       .micro_batch_size = 2,
                       .data_parallel_size = 2,
                       .order_file = file};
  EXPECT_EQ(take(config, 2), (std::vector<Indices>{{9, 3}, {7, 2}}));
  config.data_parallel_rank = 1;
  EXPECT_EQ(take(config, 2), (std::vector<Indices>{{3, 0}, {5, 1}}));
  config.consumed_samples = 4;
  EXPECT_EQ(take(config, 1), (std::vector<Indices>{{5, 1}}));
  EXPECT_NE(error_of([&] { take(config, 2); }).find("8 samples, 8 are consumed"), std::string::npos);
  config.consumed_samples = 0, config.data_parallel_rank = 0, config.total_samples = 9;
  EXPECT_NE(error_of([&] { take(config, 1); }).find("entry 0 is sample 9"), std::string::npos);
  save_npy(file, {"<i4", 16, 0}, std::span(order));  // other elements
  EXPECT_NE(error_of([&] { make_sampler(config); }).find("int64"), std::string::npos);
  write_bytes(file, {1, 2, 3});
  EXPECT_NE(error_of([&] { make_sampler(config); }).find("int64"), std::string::npos);
  std::filesystem::remove(file);
  EXPECT_NE(error_of([&] { make_sampler(config); }).find("order.npy"), std::string::npos);
}

TEST(Samplers, resume_where_they_stopped) {
  for (SamplerType type : {SamplerType::single, SamplerType::cyclic})
    for (bool sharding : {true, false}) {
      SamplerConfig config{.type = type,
                           .total_samples = 50,
                           .micro_batch_size = 2,
                           .data_parallel_rank = 1,
                           .data_parallel_size = 2,
                           .data_sharding = sharding};
      const int batches = type == SamplerType::single ? 12 : 40;
      const std::vector<Indices> whole = take(config, batches);
      for (int stop = 0; stop < batches; ++stop) {
        config.consumed_samples = 4 * stop;
        EXPECT_EQ(take(config, batches - stop), std::vector<Indices>(whole.begin() + stop, whole.end()));
      }
    }
}

TEST(CyclicSampler, an_epoch_gives_every_sample_once) {
  for (bool sharding : {true, false}) {
    std::set<i64> seen;
    for (i64 rank = 0; rank < 2; ++rank)
      for (const Indices& batch : take({.type = SamplerType::cyclic,
                                  .total_samples = 24,
                                  .micro_batch_size = 3,
                                  .data_parallel_rank = rank,
                                  .data_parallel_size = 2,
                                  .data_sharding = sharding},
                                       4))
        seen.insert(batch.begin(), batch.end());
    EXPECT_EQ(seen.size(), 24u);
    EXPECT_EQ(*seen.rbegin(), 23);
  }
}

TEST(Samplers, bad_sizes_are_errors) {
  const SamplerConfig good{
      .type = SamplerType::cyclic, .total_samples = 10, .micro_batch_size = 2, .data_parallel_size = 2};
  const auto refused = [&](auto change) {
    SamplerConfig c = good;
    change(c);
    EXPECT_NE(error_of([&] { make_sampler(c); }), "");
  };
  make_sampler(good);
  refused([](SamplerConfig& c) { c.total_samples = 3; });
  refused([](SamplerConfig& c) { c.total_samples = 0; });
  refused([](SamplerConfig& c) { c.consumed_samples = 2; });
  refused([](SamplerConfig& c) { c.consumed_samples = -4; });
  refused([](SamplerConfig& c) { c.micro_batch_size = 0; });
  refused([](SamplerConfig& c) { c.data_parallel_rank = 2; });
  refused([](SamplerConfig& c) { c.data_parallel_size = 0; });
}

}  // namespace megalith
