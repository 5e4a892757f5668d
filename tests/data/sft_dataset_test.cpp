#include "data/sft_dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/check.h"
#include "data/sft_packing.h"
#include "tests/data/data_test_util.h"

namespace megalith {

namespace {

// The definition of first fit: each length goes into the first bin with space.
std::vector<std::vector<i32>> first_fit(const std::vector<i64>& lengths, i64 capacity) {
  std::vector<std::vector<i32>> bins;
  std::vector<i64> room;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto fits = std::ranges::find_if(room, [&](i64 r) { return r >= lengths[i]; });
    const std::size_t bin = std::size_t(fits - room.begin());
    if (bin == bins.size()) bins.emplace_back(), room.push_back(capacity);
    bins[bin].push_back(i32(i)), room[bin] -= lengths[i];
  }
  return bins;
}

// Conversation i has 2 to 2 + `most` tokens 100 * i + k; the second half counts in the loss.
std::shared_ptr<const Conversations> conversations(int count, int most) {
  auto c = std::make_shared<Conversations>();
  std::mt19937 random(5);
  for (int i = 0; i < count; ++i) {
    const int length = 2 + int(random() % unsigned(most + 1));
    for (int k = 0; k < length; ++k) c->tokens.push_back(100 * i + k), c->trained.push_back(k >= length / 2);
    c->begins.push_back(i64(c->tokens.size()));
  }
  c->name = "made-up";
  return c;
}

DataConfig config_of(i64 seq_length) {
  DataConfig c;
  c.seq_length = seq_length, c.eod = 7, c.seed = 3;
  return c;
}

struct Sample {
  std::vector<i32> tokens, labels, positions, starts;
  std::vector<float> mask;
  Sample(const Dataset& set, i64 i) {
    const OwnedRow row = get_row(set, i);
    tokens = row.tokens, labels = row.labels, positions = row.position_ids, starts = row.document_starts;
    mask = row.loss_mask;
  }
  bool operator==(const Sample&) const = default;
};

// Counts each conversation in the samples [begin, end), and checks each position.
std::vector<int> seen_in(const SftDataset& set, i64 begin, i64 end, const Conversations& c) {
  std::vector<int> seen(std::size_t(c.size()));
  for (i64 i = begin; i < end; ++i) {
    const Sample s(set, i);
    for (std::size_t at = 0; at < s.tokens.size();) {
      const i32 start = i32(at);
      std::size_t count = 1;
      while (at + count < s.tokens.size() && s.starts[at + count] == start) ++count;
      EXPECT_EQ(s.starts[at], start);
      const i64 which = s.tokens[at] / 100;
      const bool padding = at + count == s.tokens.size() && s.tokens[at] == 7;
      for (std::size_t k = 0; k < count; ++k) {
        EXPECT_EQ(s.positions[at + k], i32(k));
        if (padding) {
          EXPECT_EQ(s.mask[at + k], 0);
          continue;
        }
        EXPECT_EQ(s.tokens[at + k], c.tokens_of(which)[k]);
        EXPECT_EQ(s.labels[at + k], c.tokens_of(which)[k + 1]);
        EXPECT_EQ(s.mask[at + k], float(c.trained_of(which)[k + 1]));
      }
      if (!padding) ++seen[std::size_t(which)];
      at += count;
    }
  }
  return seen;
}

}  // namespace

TEST(SftPacking, is_first_fit) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const i64 capacity = 1 + random() % 40;
    std::vector<i64> lengths(random() % 60);
    for (i64& l : lengths) l = 1 + i64(random()) % capacity;
    EXPECT_EQ(pack_first_fit(lengths, capacity), first_fit(lengths, capacity));
  }
}

TEST(SftDataset, each_epoch_holds_each_conversation_once_and_whole) {
  const auto c = conversations(200, 60);
  const SftDataset one({{c, {0, 200}, 0}}, config_of(64), std::nullopt);
  const i64 epoch = one.size();
  const SftDataset many({{c, {0, 200}, 0}}, config_of(64), 2 * epoch);
  const std::vector<int> once(200, 1);
  EXPECT_EQ(seen_in(one, 0, epoch, *c), once);
  EXPECT_GE(many.size(), 2 * epoch);
  std::vector<int> twice = seen_in(many, 0, many.size(), *c);
  EXPECT_TRUE(std::ranges::all_of(twice, [&](int n) { return n == twice[0] && n >= 2; }));
  const SftReport& r = one.report();
  EXPECT_EQ(r.conversations, 200);
  EXPECT_EQ(r.tokens, i64(c->tokens.size()) - 200);
  EXPECT_EQ(r.samples, epoch);
  EXPECT_GT(double(r.tokens), 0.9 * double(epoch * 64));
}

// The order depends on the seed alone, and each epoch has its own.
TEST(SftDataset, order) {
  const auto c = conversations(100, 20);
  const auto samples = [&](i64 seed, bool packing, i64 count) {
    DataConfig config = config_of(32);
    config.seed = seed, config.sft_packing = packing;
    const SftDataset set({{c, {0, 100}, 0}}, config, count);
    std::vector<Sample> out;
    for (i64 i = 0; i < set.size(); ++i) out.emplace_back(set, i);
    return out;
  };
  const auto first = samples(1, false, 200);
  ASSERT_EQ(first.size(), 200u);
  EXPECT_EQ(first, samples(1, false, 200));
  EXPECT_NE(first, samples(2, false, 200));
  EXPECT_FALSE(std::equal(first.begin(), first.begin() + 100, first.begin() + 100));
  EXPECT_EQ(samples(1, true, 1), samples(1, true, 1));
  EXPECT_LT(samples(1, true, 1).size(), 60u);
}

TEST(SftDataset, long_conversations) {
  auto c = std::make_shared<Conversations>(*conversations(3, 0));
  for (int k = 0; k < 50; ++k) c->tokens.push_back(300 + k), c->trained.push_back(k >= 5);
  c->begins.push_back(i64(c->tokens.size()));
  DataConfig config = config_of(16);
  const SftDataset cut({{c, {0, 4}, 0}}, config, std::nullopt);
  EXPECT_EQ(seen_in(cut, 0, cut.size(), *c), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(cut.report().too_long, 1);
  EXPECT_EQ(cut.report().lost_tokens, 49 - 16);
  config.sft_too_long = DataConfig::TooLong::skip;
  const SftDataset skipped({{c, {0, 4}, 0}}, config, std::nullopt);
  EXPECT_EQ(seen_in(skipped, 0, skipped.size(), *c), (std::vector<int>{1, 1, 1, 0}));
  EXPECT_EQ(skipped.report().left_out, 1);
  config.seq_length = 4, config.sft_too_long = DataConfig::TooLong::truncate;  // the last one has no label left
  EXPECT_EQ(SftDataset({{c, {0, 4}, 0}}, config, std::nullopt).report().left_out, 1);
  try {
    SftDataset({{c, {3, 4}, 0}}, config, std::nullopt);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("has no conversation to train on within --seq-length 4"), std::string::npos);
  }
}

// With weights an epoch has each file's share, and each file continues where it stopped.
TEST(SftDataset, weights) {
  const auto a = conversations(30, 10), b = conversations(90, 10);
  DataConfig config = config_of(16);
  config.sft_packing = false;
  const SftDataset set({{a, {0, 30}, 3}, {b, {0, 90}, 1}}, config, 240);
  EXPECT_EQ(set.size(), 240);
  const std::vector<int> seen = seen_in(set, 0, 240, *b);           // both files count from 0
  for (int i = 0; i < 30; ++i) EXPECT_GE(seen[std::size_t(i)], 6);  // a: 180 of 240 picks
  EXPECT_EQ(std::accumulate(seen.begin() + 30, seen.end(), 0) + std::accumulate(seen.begin(), seen.begin() + 30, 0),
            240);
  EXPECT_TRUE(std::all_of(seen.begin() + 30, seen.end(), [](int n) { return n <= 1; }));  // b: 60 of its 90
}

}  // namespace megalith
