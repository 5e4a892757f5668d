// Which layers --moe-layer-freq makes mixtures.
#include <gtest/gtest.h>

#include "models/moe_config.h"
#include "tests/error_of.h"

namespace megalith {

static std::string pattern(const std::string& freq, i64 layers) {
  MoeConfig c;
  c.num_experts = 4, c.layer_freq = freq;
  std::string out;
  for (const bool is_mixture : c.pattern(layers)) out += is_mixture ? '1' : '0';
  return out;
}

TEST(MoeConfig, Numbers) {
  EXPECT_EQ(pattern("1", 3), "111");
  EXPECT_EQ(pattern("2", 5), "10101");
  EXPECT_EQ(MoeConfig{}.pattern(3).size(), 0u);
}

TEST(MoeConfig, Lists) {
  EXPECT_EQ(pattern("([0]*3+[1]*5)", 8), "00011111");
  EXPECT_EQ(pattern("[0, 1] * 2 + [1]", 5), "01011");
  EXPECT_EQ(pattern("(([0]+[1])*2)*2", 8), "01010101");
}

TEST(MoeConfig, MistakesAreOneLine) {
  for (const char* bad : {"[0", "[2]", "[0]*", "([1]", "[1]+", "x", "", "[1]*-1", "[1]]", "[1]*99999999999", "-1"})
    EXPECT_NE(error_of([&] { pattern(bad, 2); }).find("--moe-layer-freq"), std::string::npos) << bad;
  EXPECT_NE(error_of([&] { pattern(std::string(2000, '(') + "[1]", 2); }).find("--moe-layer-freq"), std::string::npos);
}

}  // namespace megalith
