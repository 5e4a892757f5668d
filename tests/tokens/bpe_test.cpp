// The BPE encoder compared with the definition, with random rules.
#include "tokens/bpe.h"

#include <ctime>
#include <map>

#include "tests/tokens/helpers.h"

namespace megalith {

namespace {

std::array<u32, 256> plain_bytes() {
  std::array<u32, 256> ids{};
  for (u32 b = 0; b < 256; ++b) ids[b] = b;
  return ids;
}

// Pairs of letters and of earlier results, with ranks in random order, some of them equal.
std::vector<BpeMerges::Rule> random_rules(std::mt19937& random, u32 count) {
  std::vector<u32> symbols = {'a', 'b', 'c'};
  std::map<std::pair<u32, u32>, BpeMerges::Rule> rules;
  for (u32 i = 0; i < count; ++i) {
    const u32 left = symbols[random() % symbols.size()], right = symbols[random() % symbols.size()];
    if (!rules.try_emplace({left, right}, BpeMerges::Rule{left, right, {u32(random() % 40), 300 + i}}).second) continue;
    symbols.push_back(300 + i);
  }
  std::vector<BpeMerges::Rule> list;
  for (const auto& [pair, rule] : rules) list.push_back(rule);
  return list;
}

std::vector<i32> by_definition(const std::string& word, const std::vector<BpeMerges::Rule>& rules) {
  std::map<std::pair<u32, u32>, BpeMerges::Merge> merges;
  for (const auto& rule : rules) merges[{rule.left, rule.right}] = rule.merge;
  std::vector<i32> s;
  for (char c : word) s.push_back(u8(c));
  for (;;) {
    u32 best = BpeMerges::kNoRank;
    size_t at = 0;
    for (size_t i = 0; i + 1 < s.size(); ++i) {
      const auto found = merges.find({u32(s[i]), u32(s[i + 1])});
      if (found != merges.end() && found->second.rank < best) best = found->second.rank, at = i;
    }
    if (best == BpeMerges::kNoRank) return s;
    s[at] = i32(merges[{u32(s[at]), u32(s[at + 1])}].id);
    s.erase(s.begin() + at + 1);
  }
}

double cpu_seconds(const BpeMerges& merges, const std::string& word) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    BpeEncoder encoder(merges);
    std::vector<i32> out(word.size());
    const std::clock_t start = std::clock();
    encoder.encode(reinterpret_cast<const u8*>(word.data()), word.size(), out.data());
    best = std::min(best, double(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace

TEST(Bpe, equals_its_definition) {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    const auto rules = random_rules(random, 1 + random() % 60);
    const BpeMerges merges(plain_bytes(), rules);
    BpeEncoder encoder(merges);
    for (u32 size : {0u, 1u, 2u, 3u, 15u, 16u, 17u, 1 + u32(random() % 100), 255u, 256u, 257u, 300u}) {
      std::string word(size, ' ');
      const u32 letters = 1 + random() % 4;
      for (char& c : word) c = char('a' + random() % letters);
      std::vector<i32> got(size);
      got.resize(encoder.encode(reinterpret_cast<const u8*>(word.data()), size, got.data()));
      ASSERT_EQ(got, by_definition(word, rules)) << "round " << round << ", word " << word;
    }
  }
}

// Small windows, so that short words have many of them, and random ranks, so that errors at window ends show.
TEST(Bpe, windows_change_nothing) {
  std::mt19937 random(9);
  for (int round = 0; round < 150; ++round) {
    const auto rules = random_rules(random, 1 + random() % 60);
    const BpeMerges merges(plain_bytes(), rules);
    BpeEncoder encoder(merges, 8u << random() % 4);
    std::string word(257 + random() % 200, ' ');
    const u32 letters = 1 + random() % 4;
    for (char& c : word) c = char('a' + random() % letters);
    std::vector<i32> got(word.size());
    got.resize(encoder.encode(reinterpret_cast<const u8*>(word.data()), word.size(), got.data()));
    ASSERT_EQ(got, by_definition(word, rules)) << "round " << round << ", word " << word;
  }
}

TEST(Bpe, later_of_two_equal_rules_counts) {
  const BpeMerges merges(plain_bytes(), {{'a', 'b', {5, 300}}, {'a', 'b', {7, 301}}});
  EXPECT_EQ(merges.find('a', 'b').id, 301u);
  EXPECT_EQ(merges.find_bytes('a', 'b').rank, 7u);
  EXPECT_EQ(merges.find('b', 'a').rank, BpeMerges::kNoRank);
}

// Four times the word takes four times as long; quadratic time would be 16 times.
TEST(Bpe, time_of_a_word_of_2_megabytes_is_linear) {
  std::mt19937 random(5);
  const BpeMerges merges(plain_bytes(), random_rules(random, 300));
  for (u32 letters : {1u, 3u}) {
    std::string word(2'000'000, ' ');
    for (char& c : word) c = char('a' + random() % letters);
    const double whole = cpu_seconds(merges, word), quarter = cpu_seconds(merges, word.substr(0, word.size() / 4));
    EXPECT_LT(whole, 6 * quarter + 0.05);
  }
}

}  // namespace megalith
