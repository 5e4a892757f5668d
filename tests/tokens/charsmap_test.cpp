// SentencePiece's table of replacements, intact and damaged.
#include "tokens/hf/charsmap.h"

#include <gtest/gtest.h>

#include <cstring>

namespace megalith::hf {
namespace {

// A double array of 512 units whose root's children are at 256 ^ byte, before the replacements "b" and "cd".
std::string table(const std::vector<std::pair<u32, u32>>& units) {
  std::vector<u32> all(512);
  all[0] = 1u << 10 | 0x200;
  for (const auto& [at, unit] : units) all[at] = unit;
  const u32 size = u32(all.size() * sizeof(u32));
  std::string out(reinterpret_cast<const char*>(&size), sizeof(size));
  out.append(reinterpret_cast<const char*>(all.data()), size);
  return out + std::string("b\0cd\0", 5);
}

constexpr u32 kHasValue = 0x100, kValue = 0x80000000;
// 'a', whose children and value are where the root's are: "a" and "aa" and so on begin with a key.
constexpr std::pair<u32, u32> kA = {256 ^ 'a', u32('a') << 10 | kHasValue | 'a'};

bool is_sound(const std::vector<std::pair<u32, u32>>& units) { return Charsmap(table(units), "x").is_sound(); }

TEST(Charsmap, FindsReplacements) {
  const Charsmap map(table({kA, {256, kValue | 2}}), "x");
  EXPECT_TRUE(map.is_sound());
  EXPECT_EQ(map.shortest("aab"), "cd");
  EXPECT_EQ(map.longest("aab")->length, 2u);
  EXPECT_EQ(map.shortest("b"), std::nullopt);
}

TEST(Charsmap, IsNotSoundWhereAKeyLeadsOutOfIt) {
  EXPECT_TRUE(is_sound({kA, {256, kValue | 4}}));
  EXPECT_FALSE(is_sound({kA, {256, kValue | 5}}));              // a replacement after the last
  EXPECT_FALSE(is_sound({{256 ^ 'a', 0x7FFFFu << 10 | 'a'}}));  // children outside the array
  EXPECT_FALSE(is_sound({{256, 0x7FFFFu << 10}}));              // those of a zero byte, which a text may hold
  EXPECT_FALSE(is_sound({{256, kHasValue}}));                   // its value is the unit itself
}

}  // namespace
}  // namespace megalith::hf
