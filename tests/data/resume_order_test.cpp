// A run that resumes with another number of data-parallel ranks, or other micro-batches, reads each sample once.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "data/loader.h"

namespace megalith {
namespace {

// Samples of one token: their own index.
class Numbers final : public Dataset {
 public:
  explicit Numbers(i64 size) : size_(size) {}
  i64 size() const override { return size_; }
  i64 seq_length() const override { return 1; }
  std::vector<SampleArray> arrays() const override { return decoder_arrays(1, false); }
  void get(i64 i, const SampleRow& row) const override { row.ints("tokens")[0] = i32(i); }
  std::vector<DatasetUse> use(i64 samples) const override { return {{"numbers", samples}}; }

 private:
  i64 size_;
};

// A part of a run with one layout.
struct Part {
  i64 ranks, micro_batch_size, steps;  // number of steps of global_batch_size
};

// The samples that all ranks read. Each part resumes where the previous one ended; batches that were read ahead but
// not used do not count.
std::vector<i64> read_parts(i64 samples, i64 global_batch_size, const std::vector<Part>& parts, LoaderConfig config) {
  const auto data = std::make_shared<Numbers>(samples);
  std::vector<i64> read;
  i64 consumed = 0;
  for (const Part& part : parts) {
    config.data_parallel_size = part.ranks, config.micro_batch_size = part.micro_batch_size;
    config.consumed_samples = consumed;
    i64 after = consumed;
    for (config.data_parallel_rank = 0; config.data_parallel_rank < part.ranks; ++config.data_parallel_rank) {
      DataLoader loader(data, config);
      const i64 micro_batches = global_batch_size / part.ranks / part.micro_batch_size;
      for (i64 m = 0; m < part.steps * micro_batches; ++m) {
        const Batch batch = loader.next();
        for (const i32 number : batch.ints("tokens")) read.push_back(number);
      }
      after = loader.consumed_samples();
    }
    consumed = after;
  }
  return read;
}

const std::vector<Part> kParts = {{4, 2, 3}, {2, 1, 2}, {8, 1, 1}, {1, 8, 4},
                                  {1, 1, 1}, {3, 4, 2}, {6, 2, 2}, {2, 12, 5}};
constexpr i64 kGlobalBatch = 24;

i64 all_steps() {
  i64 steps = 0;
  for (const Part& p : kParts) steps += p.steps;
  return steps;
}

TEST(ResumeOrder, single_reads_each_sample_once_whatever_the_ranks) {
  for (const i64 workers : {0, 1, 3}) {
    std::vector<i64> read = read_parts(10000, kGlobalBatch, kParts, {.num_workers = workers});
    std::ranges::sort(read);
    std::vector<i64> expected(std::size_t(all_steps() * kGlobalBatch));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(read, expected);
  }
}

// Also within each global batch: the same samples form the same update.
TEST(ResumeOrder, single_puts_the_same_samples_into_each_update) {
  for (const Part& part : kParts)
    for (i64 step = 0; step < part.steps; ++step) {
      std::vector<i64> read =
          read_parts(10000, kGlobalBatch, {{1, 24, step}, {part.ranks, part.micro_batch_size, 1}}, {});
      read.erase(read.begin(), read.begin() + step * kGlobalBatch);
      std::ranges::sort(read);
      for (i64 i = 0; i < kGlobalBatch; ++i) EXPECT_EQ(read[std::size_t(i)], step * kGlobalBatch + i);
    }
}

TEST(ResumeOrder, cyclic_without_sharding_reads_each_sample_once_an_epoch_on_other_ranks) {
  const std::vector<Part> parts = {{4, 2, 3}, {2, 4, 2}, {8, 1, 1}, {1, 8, 4}};  // 8 samples in parallel
  const i64 steps = 10, samples = steps * kGlobalBatch;
  std::vector<Part> twice = parts;
  twice.insert(twice.end(), parts.begin(), parts.end());
  for (const std::vector<Part>& epochs : {parts, twice}) {
    std::map<i64, i64> times;
    for (const i64 number :
         read_parts(samples, kGlobalBatch, epochs, {.type = SamplerType::cyclic, .data_sharding = false}))
      ++times[number];
    EXPECT_EQ(i64(times.size()), samples);
    for (const auto& [number, n] : times) EXPECT_EQ(n, i64(epochs.size() / parts.size())) << number;
  }
}

}  // namespace
}  // namespace megalith
