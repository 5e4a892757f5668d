// Tests the search for ranks whose replica of a weight differs.
#include "train/odd_copies.h"

#include <gtest/gtest.h>

namespace megalith {
namespace {

std::vector<std::string> texts_of(const std::vector<std::vector<CopyHash>>& ranks) {
  std::vector<std::string> out;
  for (const auto& copies : ranks) out.push_back(text_of(copies));
  return out;
}

}  // namespace

TEST(OddCopies, AreNoneWhereAllAgree) {
  EXPECT_TRUE(odd_copies(texts_of({{{"0", "w", 1}}, {{"0", "w", 1}}, {{"1", "w", 2}}})).empty());
}

TEST(OddCopies, AreThoseOfTheMinority) {
  const std::vector<OddCopy> odd = odd_copies(texts_of({{{"0", "v", 1}, {"0", "w", 1}, {"e0", "x", 7}},
                                                        {{"0", "v", 9}, {"0", "w", ~u64{0}}, {"e1", "x", 8}},
                                                        {{"0", "v", 1}, {"0", "w", 1}, {"e0", "x", 7}}}));
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].rank, 1);
  EXPECT_EQ(odd[0].weight, "v");
  EXPECT_EQ(odd[0].weights, 2);
  EXPECT_TRUE(odd[0].is_clear);
  EXPECT_EQ(odd[0].others, (std::vector<int>{0, 2}));
}

TEST(OddCopies, AreAllWhereNoMajorityAgrees) {
  for (const std::vector<u64>& hashes : {std::vector<u64>{1, 2}, {1, 2, 3}, {1, 1, 2, 2}}) {
    std::vector<std::vector<CopyHash>> ranks;
    for (const u64 h : hashes) ranks.push_back({{"0", "w", h}});
    const std::vector<OddCopy> odd = odd_copies(texts_of(ranks));
    EXPECT_EQ(odd.size(), hashes.size());
    for (const OddCopy& o : odd) EXPECT_FALSE(o.is_clear);
  }
}

}  // namespace megalith
