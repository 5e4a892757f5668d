// The timing blocks must equal the output of Megatron's own timers (megatron/core/timers.py). Megatron's timer names
// are accepted.
#include "observe/timing_block.h"

#include <gtest/gtest.h>

namespace megalith {
namespace {

const std::vector<std::vector<NamedValue>> kTwoRanks = {
    {{"forward-backward", 0.0101}, {"optimizer", 0.002}, {"idle", 0}},
    {{"forward-backward", 0.0305}, {"optimizer", 0}, {"idle", 0}}};

TEST(TimingBlock, IsMegatrons) {
  EXPECT_EQ(timing_block(kTwoRanks, TimingLogOption::minmax),
            "(min, max) time across ranks (ms):\n"
            "    forward-backward ...............................: (10.10, 30.50)\n"
            "    optimizer ......................................: (2.00, 2.00)");
  EXPECT_EQ(timing_block(kTwoRanks, TimingLogOption::max),
            "max time across ranks (ms):\n"
            "    forward-backward ...............................: 30.50\n"
            "    optimizer ......................................: 2.00");
  EXPECT_EQ(timing_block(kTwoRanks, TimingLogOption::all),
            "times across ranks (ms):\n"
            "  forward-backward:\n"
            "     rank  0: 10.10\n"
            "     rank  1: 30.50\n"
            "  optimizer:\n"
            "     rank  0: 2.00");
  EXPECT_EQ(timing_block({{{"idle", 0}}}, TimingLogOption::all), "");
  EXPECT_EQ(timing_block({{{"idle", 0}}}, TimingLogOption::minmax), "");
}

TEST(TimingBlock, GoesFromRankToRank) {
  for (const auto& rank : kTwoRanks) {
    const auto back = timing_of_text(timing_text(rank));
    ASSERT_EQ(back.size(), rank.size());
    for (size_t i = 0; i < rank.size(); ++i) {
      EXPECT_EQ(back[i].name, rank[i].name);
      EXPECT_EQ(back[i].value, rank[i].value);
    }
  }
}

}  // namespace
}  // namespace megalith
